#include "tracker/formats/line_parser.h"

#include <utility>

#include "tracker/formats/scan.h"

namespace allomon::internal {

bool LineParser::Fail(std::string message) {
  *error_ = std::move(message);
  return false;
}

bool LineParser::NextLine() {
  if (rest_.empty()) return Fail(end_message_);
  size_t newline = rest_.find('\n');
  line_ = rest_.substr(0, newline);
  rest_.remove_prefix(newline == std::string_view::npos ? rest_.size() : newline + 1);
  return true;
}

bool LineParser::ParseMagic(const char* none_message, uint32_t* magic) {
  if (!NextLine()) return false;
  switch (ScanHexWord(line_, magic)) {
    case ScanResult::kOk:
      return true;
    case ScanResult::kNone:
      return Fail(none_message);
    case ScanResult::kTooBig:
      return Fail("Overflow: the magic number has more than 32 bits");
  }
  return false;
}

bool LineParser::ParseLength(const char* what, uint32_t* length) {
  if (!NextLine()) return false;
  return ScanSize(line_, length) == ScanResult::kOk ||
         Fail(std::string("invalid number of ") + what);
}

}  // namespace allomon::internal
