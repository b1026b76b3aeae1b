// The sources of counts, as the record calls them: a table of functions for each source.  Sources
// register themselves, so that no file of this room includes them.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_COUNT_SOURCE_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_COUNT_SOURCE_H_

#include <atomic>

namespace allomon::internal {

struct FunctionCell;

// All functions are called on the thread that they concern.  A source with nothing to do has a
// function that does nothing.
struct CountSource {
  // The thread is about to count in another unit of data.  Charges the thread's outstanding use to
  // the unit that it leaves.
  void (*unit_changes)();
  // The counts of all threads are about to be read.  The caller holds the units' lock.
  void (*counts_are_read_locked)();
  // The thread ends; its unit and its counts still exist.
  void (*thread_ends)();
  // From now on the thread counts in these cells.  The caller holds the units' lock.
  void (*cells_change_locked)(FunctionCell* cells);
};

// The sources are called in this order.
enum CountSourceSlot { kTimeSource, kClockSource, kHookSource, kCountSources };

// Idempotent; any thread; a source cannot be unregistered.
void RegisterCountSource(CountSourceSlot slot, const CountSource* source);

extern std::atomic<const CountSource*> count_sources[kCountSources]
    __attribute__((visibility("hidden")));

template <typename Visit>
void ForEachCountSource(Visit visit) {
  for (const std::atomic<const CountSource*>& slot : count_sources) {
    // Acquire pairs with the release in RegisterCountSource().
    const CountSource* const source = slot.load(std::memory_order_acquire);
    if (source != nullptr) visit(*source);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_COUNT_SOURCE_H_
