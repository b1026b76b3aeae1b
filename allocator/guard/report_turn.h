// One thread at a time writes a report, because reports use static memory and are read by people.
//
// A turn is no lock in the usual sense, since signal handlers take it: a fault inside a report is
// not reported, and no thread waits for ever.
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

  // False in a fault inside a report, and when five seconds have passed.
  bool mine() const { return mine_; }

 private:
  static std::atomic<long> thread_;  // the thread whose turn it is, or 0
  bool mine_ = false;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_
