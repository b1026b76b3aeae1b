// How a managed heap and a profiler meet that know nothing of each other.  The profiler stores a
// table of its functions here; as long as there is none, the heap calls none.
#ifndef ALLOMON_TRACKER_MANAGED_PROFILER_H_
#define ALLOMON_TRACKER_MANAGED_PROFILER_H_

#include <atomic>
#include <cstdint>

namespace allomon {

class AllocationClock;

namespace internal {

// Each runs on the thread that it is about, outside of signal handlers.
struct ManagedProfiler {
  void (*enter_collector)();
  // `bytes` were allocated by it.
  void (*leave_collector)(uint64_t bytes);
  // The calling thread's clock is about to go: the bytes that it holds are to be charged.
  void (*settle)(AllocationClock& clock);
};

// Null, or a table that lives for ever.  Set once.
extern std::atomic<const ManagedProfiler*> managed_profiler __attribute__((visibility("hidden")));

}  // namespace internal

// For garbage collectors.  The time and memory that a thread uses while one of these is open is
// charged to <gc>, and in the third column to the functions that are on its stack, as MLton does.
//
// Cost: a load and a branch at each end, and two calls once something was profiled.  Nests; any
// thread; not in signal handlers.
class CollectorScope {
 public:
  CollectorScope() : profiler_(internal::managed_profiler.load(std::memory_order_acquire)) {
    if (profiler_ != nullptr) profiler_->enter_collector();
  }
  ~CollectorScope() {
    if (profiler_ != nullptr) profiler_->leave_collector(bytes_);
  }
  CollectorScope(const CollectorScope&) = delete;
  CollectorScope& operator=(const CollectorScope&) = delete;

  // Memory that the collector itself has allocated, for objects that it moves.
  void AddBytes(uint64_t bytes) { bytes_ += bytes; }

 private:
  const internal::ManagedProfiler* const profiler_;
  uint64_t bytes_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_MANAGED_PROFILER_H_
