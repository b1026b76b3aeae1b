#include "tools/pprof/source.h"

#include <utility>

namespace allomon::pprof {

bool Source::Fail(std::string line) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(std::move(line));
  return false;
}

bool Source::Damaged(const char* what) {
  return Fail(std::string("is a damaged pprof profile (") + what + "): make or copy it again");
}

bool Source::Spend(size_t bytes) {
  if (bytes > left_bytes_) {
    return Fail("has more stacks and names than fit into " + std::to_string(max_bytes_ >> 20) +
                " MiB: record fewer (--limit)");
  }
  left_bytes_ -= bytes;
  return true;
}

bool Source::ReadStrings() {
  const bool is_good = ForEachField([this](const WireReader& field) {
    if (field.field() != kStringTable) return true;
    strings_.push_back(field.bytes());
    return Spend(2 * sizeof(std::string_view));
  });
  if (!is_good) return false;
  return (!strings_.empty() && strings_.front().empty()) || Damaged("no table of strings");
}

std::string_view Source::Text(uint64_t number) {
  if (number < strings_.size()) return strings_[number];
  Damaged("a string that is not there");
  return "";
}

bool Source::CopyText(uint64_t number, std::string* text) {
  const std::string_view view = Text(number);
  if (!Spend(view.size())) return false;
  *text = view;
  return status_.ok();
}

}  // namespace allomon::pprof
