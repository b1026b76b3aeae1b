#include "tools/heap/selection.h"

#include <algorithm>
#include <utility>

namespace allomon::heap {

absl::Status Patterns::Add(std::string_view expression) {
  // The prefix ".*" allows a match anywhere, because mlprof's matches begin at the start of the
  // text.
  auto pattern = mlprof::Regexp::Compile(".*(" + std::string(expression) + ")");
  if (!pattern) {
    return absl::InvalidArgumentError("\"" + std::string(expression) +
                                      "\" is not a regular expression (POSIX extended)");
  }
  patterns_.push_back(*std::move(pattern));
  return absl::OkStatus();
}

bool Patterns::MatchAny(std::string_view text) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [text](const mlprof::Regexp& one) { return one.MatchesPrefix(text); });
}

}  // namespace allomon::heap
