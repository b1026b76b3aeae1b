// Reads JSON from a file as it comes, with little memory: for texts of gigabytes that are mostly
// arrays of numbers.
#ifndef ALLOMON_TOOLS_SNAPSHOT_JSON_SCANNER_H_
#define ALLOMON_TOOLS_SNAPSHOT_JSON_SCANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace allomon::snapshot {

// After a failure all functions fail, and error() says what was wrong with the first that did.
class JsonScanner {
 public:
  // Puts at most `size` bytes at `to`.  Returns their number, 0 at the end, below 0 on failure.
  using Source = std::function<int64_t(char* to, size_t size)>;
  // Told how many bytes were read so far, about every 16 MiB.
  using Progress = std::function<void(uint64_t bytes)>;

  JsonScanner(Source source, Progress progress);

  // The next character that is not blank, which stays; 0 at the end.
  char Peek() {
    while (at_ != end_ || Fill()) {
      if (!IsBlank(*at_)) return *at_;
      ++at_;
    }
    return 0;
  }
  // Takes this character.
  bool Take(char wanted);
  // Takes the character if it comes next.
  bool TakeIf(char wanted) {
    if (Peek() != wanted) return false;
    ++at_;
    return true;
  }
  // An integer from 0 to 2^64 - 1, without a sign, a fraction or an exponent.
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
  // Appends the string's characters, its escapes decoded to UTF-8.
  bool TakeString(std::string* text);
  // Skips a value of any kind.  Its text is appended to `text`, if there is one, up to a mebibyte.
  bool SkipValue(std::string* text);
  bool TakeEnd();

  bool Fail(const std::string& what);
  // "what, at byte 123"; empty: nothing has failed.
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
