#include "allocator/guard/report_text.h"

#include <time.h>

#include <cstring>

#include "allocator/host/host_stderr.h"
#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

ReportText& ReportText::operator<<(std::string_view text) {
  if (text.size() > sizeof(text_) - length_) Flush();
  const size_t taken = text.size() < sizeof(text_) ? text.size() : sizeof(text_);
  ALLOMON_DCHECK_LE("inv.host.text", length_ + taken, sizeof(text_));
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

std::atomic<long> ReportTurn::thread_{0};

ReportTurn::ReportTurn() {
  constexpr timespec kPause = {0, 5'000'000};
  constexpr int kPauses = 1000;
  const long me = sys::Gettid();
  for (int i = 0; i < kPauses && !mine_; ++i) {
    long nobody = 0;
    mine_ = thread_.compare_exchange_strong(nobody, me, std::memory_order_acquire);
    if (nobody == me) return;
    if (!mine_) sys::Nanosleep(kPause);
  }
}

ReportTurn::~ReportTurn() {
  if (!mine_) return;
  ALLOMON_DCHECK_EQ("inv.guard.turn", thread_.load(std::memory_order_relaxed), sys::Gettid());
  thread_.store(0, std::memory_order_release);
}

}  // namespace allomon::internal
