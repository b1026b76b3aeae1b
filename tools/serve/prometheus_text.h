// Writes Prometheus' text format, version 0.0.4.
#ifndef ALLOMON_TOOLS_SERVE_PROMETHEUS_TEXT_H_
#define ALLOMON_TOOLS_SERVE_PROMETHEUS_TEXT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allomon::serve {

inline constexpr char kPrometheusType[] = "text/plain; version=0.0.4; charset=utf-8";

// Makes a text fit for a label's value: UTF-8 without zeros.  U+FFFD replaces other bytes, so two
// texts may become equal.
std::string LabelText(std::string_view text);

// Returns a LabelText() in quotes, with backslashes, quotes and line feeds escaped.
std::string QuotedLabel(std::string_view text);

// Returns "{pid="1",program="x"}"; empty for no labels.  The caller makes sure that names are
// valid.
using PrometheusLabels = std::vector<std::pair<std::string, std::string>>;
std::string LabelSet(const PrometheusLabels& labels);

// Returns a text that reads back as the same number.
std::string PrometheusNumber(double value);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PROMETHEUS_TEXT_H_
