#include "tools/serve/prometheus_text.h"

#include <charconv>
#include <cmath>

#include "tools/text/plain_text.h"

namespace allomon::serve {
namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";  // U+FFFD

}  // namespace

std::string LabelText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto code_point = FirstCodePoint(text);
    const bool is_good = code_point && code_point->value != 0;
    const size_t length = code_point ? code_point->length_bytes : 1;
    out += is_good ? text.substr(0, length) : std::string_view(kReplacement);
    text.remove_prefix(length);
  }
  return out;
}

std::string QuotedLabel(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string LabelSet(const PrometheusLabels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += (out.empty() ? "{" : ",") + name + "=" + QuotedLabel(value);
  }
  return out.empty() ? out : out + "}";
}

std::string PrometheusNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  constexpr double kWhole = 9007199254740992;  // 2^53: integers below are exact
  if (std::fabs(value) < kWhole && value == std::trunc(value)) {
    return std::to_string(static_cast<int64_t>(value));
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

}  // namespace allomon::serve
