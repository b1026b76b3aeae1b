#include "tools/load/text_lines.h"

#include <algorithm>
#include <charconv>

#include "tracker/base/check.h"

namespace allomon::interchange {

bool TextLines::Next() {
  if (rest_.empty()) return false;
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  ++number_;
  return true;
}

absl::Status TextLines::Error(const std::string& what) const {
  return absl::InvalidArgumentError("line " + std::to_string(number_) + ": " + what);
}

void Fields::SkipBlanks() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
}

bool Fields::Take(std::string_view word) {
  SkipBlanks();
  if (rest_.substr(0, word.size()) != word) return false;
  rest_.remove_prefix(word.size());
  return true;
}

bool Fields::TakeNumber(int base, uint64_t* value) {
  const char* const end = rest_.data() + rest_.size();
  const auto [at, error] = std::from_chars(rest_.data(), end, *value, base);
  if (error != std::errc()) return false;
  ALLOMON_DCHECK("inv.load.parts", rest_.data() < at && at <= end);
  rest_.remove_prefix(static_cast<size_t>(at - rest_.data()));
  return true;
}

bool Fields::TakeDecimal(uint64_t* value) {
  SkipBlanks();
  return TakeNumber(10, value);
}

bool Fields::TakeHexadecimal(uint64_t* value) {
  if (!Take("0x")) SkipBlanks();
  return TakeNumber(16, value);
}

bool Fields::AtEnd() {
  SkipBlanks();
  return rest_.empty();
}

}  // namespace allomon::interchange
