#include "tracker/gates/allocation_scope.h"

#include <mutex>

#include "tracker/base/check.h"

namespace allomon {
namespace {

using internal::Ledger;

// The innermost open scope of this thread; null outside of scopes.
__thread Ledger* t_ledger = nullptr;
// The number of uncounted regions that are open in that scope.
__thread int t_uncounted = 0;

std::shared_ptr<Ledger> SharedOrNull(Ledger* ledger) {
  return ledger == nullptr ? nullptr : ledger->shared_from_this();
}

struct LedgerOfThread {
  std::shared_ptr<Ledger> operator()(const Allocation& allocation) const {
    Ledger* const ledger = Ledger::FirstOpen(t_ledger);
    if (ledger == nullptr || t_uncounted != 0) return nullptr;
    if (ledger->open()) return ledger->shared_from_this();
    ledger->Open(allocation.callstack);
    return nullptr;
  }
};

// The only tracker for all scopes of the process, from the first that opens to the last that
// closes.
class SharedCounter {
 public:
  absl::StatusOr<TrackerId> Acquire() {
    std::lock_guard<std::mutex> hold(mutex_);
    if (users_ == 0) {
      const auto started = internal::StartExactCounter(LedgerOfThread{});
      if (!started.ok()) return started.status();
      id_ = *started;
    }
    ++users_;
    return id_;
  }

  void Release() {
    std::lock_guard<std::mutex> hold(mutex_);
    ALLOMON_DCHECK_LT("inv.gates.users", 0, users_);
    if (--users_ == 0) (void)Tracker::stop(id_);
  }

 private:
  std::mutex mutex_;
  int users_ = 0;
  TrackerId id_;
};

SharedCounter& Counter() {
  static SharedCounter& counter = *new SharedCounter;  // scopes may end during exit
  return counter;
}

}  // namespace

UncountedRegion::UncountedRegion() { ++t_uncounted; }
UncountedRegion::~UncountedRegion() { --t_uncounted; }

AllocationScope::AllocationScope(AllocationLimit limit)
    : previous_(SharedOrNull(Ledger::FirstOpen(t_ledger))), previous_uncounted_(t_uncounted) {
  t_uncounted = 1;  // until the scope begins
  ledger_ = std::make_shared<Ledger>(limit, previous_uncounted_ == 0 ? previous_ : nullptr);
  const auto tracker = Counter().Acquire();
  if (tracker.ok()) {
    tracker_ = *tracker;
    losses_before_ = internal::LossesOf(tracker_);
  } else {
    error_ = std::string(tracker.status().message());
  }
  t_ledger = ledger_.get();
  t_uncounted = 0;
  internal::AllocateProbe();
  if (error_.empty() && !ledger_->open()) error_ = internal::kNothingReports;
}

AllocationScope::~AllocationScope() {
  if (!stopped_) Stop();
}

AllocationReport AllocationScope::Read() const {
  const UncountedRegion own_work;
  if (stopped_) return final_;
  AllocationReport report = ledger_->Read();
  report.error = error_;
  if (report.error.empty()) {
    report.error = DescribeLosses(losses_before_, internal::LossesOf(tracker_));
  }
  return report;
}

AllocationReport AllocationScope::Stop() {
  const bool is_innermost = t_ledger == ledger_.get();
  if (!stopped_ && is_innermost && t_uncounted != 0) {
    error_ = "an UncountedRegion ends in the AllocationScope that it was opened in, and not later";
  }
  const UncountedRegion own_work;
  if (stopped_) return final_;
  if (!is_innermost) error_ = "an AllocationScope ends on its own thread, after those opened later";
  final_ = Read();
  stopped_ = true;
  ledger_->Close();
  if (tracker_.value != 0) Counter().Release();
  if (is_innermost) {
    t_ledger = Ledger::FirstOpen(previous_.get());
    t_uncounted += previous_uncounted_;
  } else {
    new std::shared_ptr<Ledger>(ledger_);  // leaked: its thread still refers to it
  }
  return final_;
}

}  // namespace allomon
