#include "allocator/guard/report_turn.h"

#include <time.h>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

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
  if (mine_) thread_.store(0, std::memory_order_release);
}

}  // namespace allomon::internal
