// The text of a report, composed without malloc and without the C library's formatting.
//
// Async-signal-safe.  An object takes 16 KiB and is meant to be static.
#ifndef ALLOMON_ALLOCATOR_GUARD_REPORT_TEXT_H_
#define ALLOMON_ALLOCATOR_GUARD_REPORT_TEXT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon::internal {

class ReportText {
 public:
  ReportText& operator<<(std::string_view text);
  ReportText& operator<<(uint64_t number);
  ReportText& Hex(uint64_t number);
  // Appends text that the program controls.  Control characters, which would end the line or
  // command a terminal, are shown as '?'.
  ReportText& Foreign(std::string_view text);

  // Writes the text to standard error, in one piece unless it exceeded the buffer.
  void Flush();

  std::string_view view() const { return {text_, length_}; }

 private:
  void Digits(uint64_t number, unsigned base);

  size_t length_ = 0;
  char text_[16384] = {};  // so that a global one is initialised at compile time
};

// ---- Lets one thread at a time write a report, because reports use static memory and people read
// them.
//
// A turn is not an ordinary lock, since signal handlers take it.  A fault inside a report is not
// reported, and no thread waits for ever.

class ReportTurn {
 public:
  // Waits until another thread's turn ends, for five seconds at most: a fork may have copied the
  // turn of a thread that the child does not have.
  ReportTurn();
  ~ReportTurn();
  ReportTurn(const ReportTurn&) = delete;
  ReportTurn& operator=(const ReportTurn&) = delete;

  // Returns false for a fault inside a report, and if five seconds have passed without a turn.
  bool mine() const { return mine_; }

 private:
  static std::atomic<long> thread_;  // the thread whose turn it is, or 0
  bool mine_ = false;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_REPORT_TEXT_H_
