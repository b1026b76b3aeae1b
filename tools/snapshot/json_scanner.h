// Reads JSON from a file in one pass, with little memory: for texts of gigabytes that are mostly
// arrays of numbers.
#ifndef ALLOMON_TOOLS_SNAPSHOT_JSON_SCANNER_H_
#define ALLOMON_TOOLS_SNAPSHOT_JSON_SCANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace allomon::snapshot {

// After a failure all functions fail, and error() describes the first failure.
class JsonScanner {
 public:
  // Writes at most `size` bytes to `to`.  Returns their number, 0 at the end, and a negative number
  // on failure.
  using Source = std::function<int64_t(char* to, size_t size)>;
  // Called about every 16 MiB with the number of bytes read so far.
  using Progress = std::function<void(uint64_t bytes)>;

  JsonScanner(Source source, Progress progress);

  // Returns the next character that is not blank, without consuming it; 0 at the end.
  char Peek() {
    while (at_ != end_ || Fill()) {
      if (!IsBlank(*at_)) return *at_;
      ++at_;
    }
    return 0;
  }
  // Consumes this character.  Fails if another one comes next.
  bool Take(char wanted);
  // Consumes the character if it comes next.
  bool TakeIf(char wanted) {
    if (Peek() != wanted) return false;
    ++at_;
    return true;
  }
  // Reads an integer from 0 to 2^64 - 1, without a sign, a fraction or an exponent.
  bool TakeNumber(uint64_t* number) {
    const char first = Peek();
    if (!IsDigit(first)) return Fail("a number without sign was expected");
    uint64_t value = 0;
    do {
      const auto digit = static_cast<uint64_t>(*at_ - '0');
      if (value > (UINT64_MAX - digit) / 10) return Fail("a number is beyond 64 bits");
      value = value * 10 + digit;
      ++at_;
    } while ((at_ != end_ || Fill()) && IsDigit(*at_));
    *number = value;
    return true;
  }
  // Appends the string's characters, with escapes decoded to UTF-8.
  bool TakeString(std::string* text);
  // Skips a value of any kind.  Appends its text to `text`, if that is not null; fails if the text
  // exceeds a mebibyte.
  bool SkipValue(std::string* text);
  bool TakeEnd();

  bool Fail(const std::string& what);
  // "what, at byte 123"; empty if nothing has failed.
  const std::string& error() const { return error_; }
  uint64_t position() const { return read_ - static_cast<uint64_t>(end_ - at_); }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  bool Fill();
  bool TakeByte(char* byte);
  bool TakeEscape(std::string* text);
  bool TakeHex(uint32_t* unit);
  bool SkipString(std::string* text);
  bool SkipWord(std::string* text);

  const Source source_;
  const Progress progress_;
  const std::unique_ptr<char[]> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint64_t read_ = 0;
  uint64_t told_ = 0;
  bool ended_ = false;
  std::string error_;
};

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_JSON_SCANNER_H_
