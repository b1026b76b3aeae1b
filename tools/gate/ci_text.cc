#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/gate/trend.h"

namespace allomon::gate {
namespace {

// A fence that no line of the text ends.
std::string Fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "text\n" + text + fence + "\n";
}

std::string Folded(const std::string& title, const std::string& text) {
  return "<details open><summary>" + title + "</summary>\n\n" + Fenced(text) + "\n</details>\n";
}

}  // namespace

std::string ToMarkdown(const Comparison& comparison) {
  const char* const title = comparison.passed() ? "## Allocations: nothing grew\n\n"
                                                : "## Allocations: something grew\n\n";
  return title + Folded("Figures and call stacks", ToText(comparison));
}

std::string ToMarkdown(const Trend& trend) {
  std::string text = trend.grew ? "## Allocations: something grew\n\n" : "## Allocations\n\n";
  text += ToMarkdown(trend.history, trend.findings);
  if (trend.comparison.has_value() && !trend.comparison->passed()) {
    text +=
        "\n" + Folded("What grew beside commit " + ShortCommit(trend.compared_with) + ", and where",
                      ToText(*trend.comparison));
  }
  return text;
}

std::string ToActionBenchmark(const std::vector<Figures>& current) {
  const char* const units[kMetrics] = {"allocations/iteration", "bytes/iteration", "bytes",
                                       "instructions/iteration"};
  Json all = Json::array();
  for (const Figures& benchmark : current) {
    for (int i = 0; i < kMetrics; ++i) {
      if (!benchmark.values[i].has_value()) continue;
      all.push_back({{"name", benchmark.name + " " + NameOf(static_cast<Metric>(i))},
                     {"unit", units[i]},
                     {"value", *benchmark.values[i]}});
    }
  }
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace allomon::gate
