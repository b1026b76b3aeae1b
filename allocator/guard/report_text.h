// The text of a report, put together without malloc and without the C library's formatting.
//
// Async-signal-safe.  Meant to be static: 16 KiB.
#ifndef ALLOMON_ALLOCATOR_GUARD_REPORT_TEXT_H_
#define ALLOMON_ALLOCATOR_GUARD_REPORT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon::internal {

class ReportText {
 public:
  ReportText& operator<<(std::string_view text);
  ReportText& operator<<(uint64_t number);
  ReportText& Hex(uint64_t number);
  // Text of the program's: control characters, which would end the line or speak to a terminal, are
  // shown as '?'.
  ReportText& Foreign(std::string_view text);

  // Writes the text to standard error, in one piece unless it was longer than the room.
  void Flush();

  std::string_view view() const { return {text_, length_}; }

 private:
  void Digits(uint64_t number, unsigned base);

  size_t length_ = 0;
  char text_[16384];
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_REPORT_TEXT_H_
