// The counts of one scope: its allocations, and their part that is still live.
//
// Ledgers of nested scopes form a chain, inner to outer.  The birth and the death of a block are
// entered into each of them.  A block keeps these ledgers alive, so it may die after the scope.
//
// There is one lock for all ledgers, so threads that are counted at the same time wait for each
// other.  A thread that holds the lock frees no block that a tracker may follow, so it never takes
// the lock twice (inv.gates.lock).
#ifndef ALLOMON_TRACKER_GATES_LEDGER_H_
#define ALLOMON_TRACKER_GATES_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>

#include "tracker/allocation.h"
#include "tracker/gates/allocation_report.h"

namespace allomon {

// The quantity that a scope must keep at or below `value`; default: no limit.
struct AllocationLimit {
  AllocationQuantity quantity = AllocationQuantity::kAllocations;
  uint64_t value = std::numeric_limits<uint64_t>::max();
};

namespace internal {

class Ledger : public std::enable_shared_from_this<Ledger> {
 public:
  Ledger(AllocationLimit limit, std::shared_ptr<Ledger> outer)
      : limit_(limit), outer_(std::move(outer)) {}

  // Sets the call stack of the scope's beginning: the frames that an allocation's stack shares with
  // it are the scope's callers.  Until then no block is entered (inv.gates.probe).
  void Open(const Callstack& opener);
  bool open() const { return open_; }

  // The scope has ended; blocks may still leave.
  void Close() { closed_ = true; }
  // Returns `ledger`, or the first of its outer ledgers whose scope has not ended; null if there is
  // no such ledger.
  static Ledger* FirstOpen(Ledger* ledger);

  // Returns the number of frames of `callstack` within the scope, including the function that
  // contains the scope.
  size_t InnerFrames(const Callstack& callstack) const;

  // Enters a block into this ledger and the outer ones.
  void Enter(const Allocation& allocation);
  // Enters the death of a block that was entered before.
  void Leave(const Callstack& callstack, uint64_t size_bytes);

  AllocationReport Read() const;

  const std::shared_ptr<Ledger>& outer() const { return outer_; }

 private:
  struct Account {
    AllocationSite site;
    bool frameworks_own = false;
  };

  void EnterLocked(const Allocation& allocation, Account& account);
  void LeaveLocked(Account& account, uint64_t size_bytes);
  bool IsExcessLocked() const;
  void NoteWhatLivesLocked();

  // By stack id.  Accounts are never erased.
  Account& AccountOf(const Callstack& callstack);

  const AllocationLimit limit_;
  const std::shared_ptr<Ledger> outer_;
  Callstack opener_;
  bool open_ = false;
  std::atomic<bool> closed_{false};
  bool peak_noted_ = false;
  AllocationReport total_;  // without sites
  std::map<uint32_t, Account> accounts_;
};

}  // namespace internal
}  // namespace allomon

#endif  // ALLOMON_TRACKER_GATES_LEDGER_H_
