#include "tools/snapshot/json_scanner.h"

#include <string_view>
#include <utility>

namespace allomon::snapshot {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr uint64_t kProgressBytes = uint64_t{16} << 20;
constexpr size_t kMostTextBytes = size_t{1} << 20;
// Refuses deeper nesting.  Values in snapshots have a few levels, and call trees some hundred.
constexpr size_t kMostDepth = 10000;

void AppendUtf8(uint32_t point, std::string* text) {
  const auto add = [text](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      add(0xe0 | point >> 12);
    } else {
      add(0xf0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3f));
    }
    add(0x80 | (point >> 6 & 0x3f));
  }
  add(0x80 | (point & 0x3f));
}

}  // namespace

JsonScanner::JsonScanner(Source source, Progress progress)
    : source_(std::move(source)), progress_(std::move(progress)), buffer_(new char[kBufferBytes]) {}

bool JsonScanner::Fail(const std::string& what) {
  if (error_.empty()) error_ = what + ", at byte " + std::to_string(position());
  at_ = end_;
  ended_ = true;
  return false;
}

bool JsonScanner::Fill() {
  if (ended_) return false;
  const int64_t got = source_(buffer_.get(), kBufferBytes);
  if (got < 0) return Fail("it cannot be read");
  ended_ = got == 0;
  at_ = buffer_.get();
  end_ = at_ + got;
  read_ += static_cast<uint64_t>(got);
  if (progress_ != nullptr && read_ - told_ >= kProgressBytes) progress_(told_ = read_);
  return !ended_;
}

bool JsonScanner::Take(char wanted) {
  const char next = Peek();
  if (next == wanted) return ++at_, true;
  if (next == 0) return Fail("the file ends too early");
  return Fail(std::string("'") + wanted + "' was expected");
}

bool JsonScanner::TakeByte(char* byte) {
  if (at_ == end_ && !Fill()) return Fail("the file ends too early");
  *byte = *at_++;
  return true;
}

bool JsonScanner::TakeHex(uint32_t* unit) {
  *unit = 0;
  for (int i = 0; i < 4; ++i) {
    char c = 0;
    if (!TakeByte(&c)) return false;
    const int value = IsDigit(c)             ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (value < 0) return Fail("\\u needs four hexadecimal digits");
    *unit = *unit << 4 | static_cast<uint32_t>(value);
  }
  return true;
}

// Turns half of a surrogate pair into U+FFFD, because strings of JavaScript may contain one.
bool JsonScanner::TakeEscape(std::string* text) {
  char c = 0;
  if (!TakeByte(&c)) return false;
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const size_t place = kNames.find(c);
  if (place != std::string_view::npos) return text->push_back(kMeanings[place]), true;
  if (c != 'u') return Fail("an unknown escape in a string");
  uint32_t unit = 0;
  if (!TakeHex(&unit)) return false;
  while (unit >= 0xd800 && unit < 0xdc00) {
    uint32_t low = 0;
    if ((at_ == end_ && !Fill()) || *at_ != '\\') break;
    ++at_;
    if (!TakeByte(&c)) return false;
    if (c != 'u') {
      AppendUtf8(0xfffd, text);
      --at_;
      return TakeEscape(text);
    }
    if (!TakeHex(&low)) return false;
    if (low >= 0xdc00 && low < 0xe000) {
      AppendUtf8(0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)), text);
      return true;
    }
    AppendUtf8(0xfffd, text);
    unit = low;
  }
  AppendUtf8(unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit, text);
  return true;
}

bool JsonScanner::TakeString(std::string* text) {
  if (Peek() != '"') return Fail("a string was expected");
  ++at_;
  for (;;) {
    char c = 0;
    if (!TakeByte(&c)) return false;
    if (c == '"') return true;
    if (c == '\\') {
      if (!TakeEscape(text)) return false;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      return Fail("a control character in a string");
    } else {
      text->push_back(c);
    }
  }
}

// The first quotation mark must have been read.
bool JsonScanner::SkipString(std::string* text) {
  for (bool escaped = false;;) {
    char c = 0;
    if (!TakeByte(&c)) return false;
    if (text != nullptr) text->push_back(c);
    if (c == '"' && !escaped) return true;
    escaped = c == '\\' && !escaped;
  }
}

// Skips a number, true, false or null.
bool JsonScanner::SkipWord(std::string* text) {
  size_t length = 0;
  for (; at_ != end_ || Fill(); ++at_, ++length) {
    const char c = *at_;
    const bool is_part =
        IsDigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == 'E';
    if (!is_part) break;
    if (text != nullptr) text->push_back(c);
  }
  return length > 0 || Fail("a value was expected");
}

// Checks only that brackets pair.  Skipped text is not used, and kept text goes to another parser.
bool JsonScanner::SkipValue(std::string* text) {
  std::string open;
  do {
    const char c = Peek();
    if (c == 0) return Fail("the file ends too early");
    if (text != nullptr && text->size() > kMostTextBytes) return Fail("a value is too long");
    const bool is_mark = c == '{' || c == '[' || c == '}' || c == ']' || c == ',' || c == ':';
    if (!is_mark && c != '"') {
      if (!SkipWord(text)) return false;
      continue;
    }
    ++at_;
    if (text != nullptr) text->push_back(c);
    if (c == '"' && !SkipString(text)) return false;
    if (c == '{' || c == '[') {
      if (open.size() == kMostDepth) return Fail("values are nested too deeply");
      open.push_back(c == '{' ? '}' : ']');
    }
    if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return Fail("brackets do not pair");
      open.pop_back();
    }
    if ((c == ',' || c == ':') && open.empty()) return Fail("a value was expected");
  } while (!open.empty());
  return true;
}

bool JsonScanner::TakeEnd() {
  return Peek() == 0 ? error_.empty() : Fail("there is more behind the end");
}

}  // namespace allomon::snapshot
