// Lets one thread at a time write a report, because reports use static memory and people read them.
//
// A turn is not an ordinary lock, since signal handlers take it.  A fault inside a report is not
// reported, and no thread waits for ever.
#ifndef ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_
#define ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_

#include <atomic>

namespace allomon::internal {

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

#endif  // ALLOMON_ALLOCATOR_GUARD_REPORT_TURN_H_
