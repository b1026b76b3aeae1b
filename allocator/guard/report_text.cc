#include "allocator/guard/report_text.h"

#include <cstring>

#include "allocator/host/host_stderr.h"

namespace allomon::internal {

ReportText& ReportText::operator<<(std::string_view text) {
  if (text.size() > sizeof(text_) - length_) Flush();
  const size_t taken = text.size() < sizeof(text_) ? text.size() : sizeof(text_);
  memcpy(text_ + length_, text.data(), taken);
  length_ += taken;
  return *this;
}

void ReportText::Digits(uint64_t number, unsigned base) {
  char digits[20];
  size_t first = sizeof(digits);
  do {
    digits[--first] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  *this << std::string_view(digits + first, sizeof(digits) - first);
}

ReportText& ReportText::operator<<(uint64_t number) {
  Digits(number, 10);
  return *this;
}

ReportText& ReportText::Hex(uint64_t number) {
  *this << "0x";
  Digits(number, 16);
  return *this;
}

ReportText& ReportText::Foreign(std::string_view text) {
  for (const char c : text) {
    const bool shown = static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
    *this << std::string_view(shown ? &c : "?", 1);
  }
  return *this;
}

void ReportText::Flush() {
  WriteToStderr(text_, length_);
  length_ = 0;
}

}  // namespace allomon::internal
