#include "tracker/core/callback_scope.h"
#include "tracker/core/entries.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {
namespace {

std::atomic<EntryId>& NextOf(EntryId entry) { return Entries().At(entry).next; }

EntryId Reversed(EntryId newest_first) {
  EntryId oldest_first = 0;
  while (newest_first != 0) {
    const EntryId entry = newest_first;
    newest_first = NextOf(entry).load(std::memory_order_relaxed);
    NextOf(entry).store(oldest_first, std::memory_order_relaxed);
    oldest_first = entry;
  }
  return oldest_first;
}

}  // namespace

// Needs a compare-exchange: a signal handler may also free a block between the load and the store.
void PostponeDealloc(ThreadState& thread, EntryId entry) {
  EntryId newest = thread.postponed.load(std::memory_order_relaxed);
  do {
    NextOf(entry).store(newest, std::memory_order_relaxed);
  } while (!thread.postponed.compare_exchange_weak(newest, entry, std::memory_order_relaxed));
}

void RunPostponedDeallocsSlow(ThreadState& thread) {
  while (true) {
    if (thread.postponed_due == 0) {
      thread.postponed_due = Reversed(thread.postponed.exchange(0, std::memory_order_relaxed));
    }
    const EntryId entry = thread.postponed_due;
    if (entry == 0) return;
    thread.postponed_due = NextOf(entry).load(std::memory_order_relaxed);
    DeallocEntry(entry);
  }
}

}  // namespace allomon::internal
