// Who writes a report: one thread at a time, because reports use static memory and are read
// by people.
//
// No lock in the usual sense, since it is taken in signal handlers: a fault inside a report
// is not reported, and nobody waits for ever.
#ifndef ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_
#define ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_

#include <atomic>

namespace allomon::internal {

class ReportTurn {
 public:
  // Waits for another thread's turn to end, for five seconds: it may be a thread that a fork
  // left behind.
  ReportTurn();
  ~ReportTurn();
  ReportTurn(const ReportTurn&) = delete;
  ReportTurn& operator=(const ReportTurn&) = delete;

  // False in a fault of the report itself, and when the wait was in vain.
  bool mine() const { return mine_; }

 private:
  static std::atomic<long> thread_;  // whose turn it is, or 0
  bool mine_ = false;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_
