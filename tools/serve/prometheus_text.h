// Prometheus' text format, version 0.0.4.
#ifndef ALLOMON_TOOLS_SERVE_PROMETHEUS_TEXT_H_
#define ALLOMON_TOOLS_SERVE_PROMETHEUS_TEXT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allomon::serve {

inline constexpr char kPrometheusType[] = "text/plain; version=0.0.4; charset=utf-8";

// What a label's value can be: UTF-8 without zeros, where anything else is U+FFFD.  Two texts may
// become one.
std::string LabelText(std::string_view text);

// In quotes, with backslashes, quotes and line feeds escaped.  Of a LabelText.
std::string QuotedLabel(std::string_view text);

// "{pid="1",program="x"}"; empty for no labels.  Names are the caller's, and right.
using PrometheusLabels = std::vector<std::pair<std::string, std::string>>;
std::string LabelSet(const PrometheusLabels& labels);

// A number that reads as what it was.
std::string PrometheusNumber(double value);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PROMETHEUS_TEXT_H_
