#include "tools/run/words.h"

#include <cmath>
#include <cstdio>

#include "tools/text/amounts.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

namespace allomon::run {
namespace {

constexpr double kMostBytes = 9e18;
constexpr size_t kMostListed = 3;

std::string Plural(const std::string& noun) {
  const bool hisses = noun.back() == 's';
  return noun + (hisses ? "es" : "s");
}

}  // namespace

std::string Bytes(double bytes) {
  const double bounded = std::isnan(bytes) ? 0 : std::fmin(std::fmax(bytes, 0), kMostBytes);
  return report::Amount(ProfileKind::kAlloc, std::llround(bounded));
}

std::string Seconds(double seconds) {
  char text[400];  // the largest double has 309 digits before the point
  snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string Number(uint64_t number) { return report::Exact(static_cast<MlmonInt>(number)); }

std::string Count(uint64_t number, const std::string& noun) {
  return Number(number) + " " + (number == 1 ? noun : Plural(noun));
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostListed; ++i) {
    const bool is_last = i + 1 == names.size();
    text += (i == 0 ? "" : is_last ? " and " : ", ") + names[i];
  }
  if (names.size() > kMostListed) {
    text += " and " + std::to_string(names.size() - kMostListed) + " more";
  }
  return text;
}

std::string Message(const std::string& line) {
  return "allomon run: " + Printable(line, report::ThisTerminal().charset) + "\n";
}

void Say(const std::string& line) { fputs(Message(line).c_str(), stderr); }

}  // namespace allomon::run
