// Connects a managed heap and a profiler that do not depend on each other.  The profiler stores a
// table of its functions here; without a table the heap calls nothing.
#ifndef ALLOMON_TRACKER_MANAGED_PROFILER_H_
#define ALLOMON_TRACKER_MANAGED_PROFILER_H_

#include <atomic>
#include <cstdint>

namespace allomon {

class AllocationClock;

namespace internal {

// Each function runs on the thread that it concerns, outside of signal handlers.
struct ManagedProfiler {
  void (*enter_collector)();
  // `bytes` were allocated by it.
  void (*leave_collector)(uint64_t bytes);
  // The calling thread's clock will be destroyed: charge the bytes that it holds.
  void (*settle)(AllocationClock& clock);
};

// Null, or a table that lives for ever.  Set once.
extern std::atomic<const ManagedProfiler*> managed_profiler __attribute__((visibility("hidden")));

}  // namespace internal

// For garbage collectors.  Time and memory that a thread uses while a scope is open is charged to
// <gc>, and in the third column to the functions on its stack, as MLton does.
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

  // Adds memory that the collector itself has allocated, for objects that it moves.
  void AddBytes(uint64_t bytes) { bytes_ += bytes; }

 private:
  const internal::ManagedProfiler* const profiler_;
  uint64_t bytes_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_MANAGED_PROFILER_H_
