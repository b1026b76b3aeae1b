#include "tracker/internal/postponed.h"

#include "tracker/internal/entries.h"
#include "tracker/internal/thread_state.h"

namespace allomon::internal {

void PostponeDealloc(ThreadState& thread, EntryId entry) {
  Entries().At(entry).next.store(0, std::memory_order_relaxed);
  if (thread.postponed == 0) {
    thread.postponed = entry;
  } else {
    Entries().At(thread.last_postponed).next.store(entry, std::memory_order_relaxed);
  }
  thread.last_postponed = entry;
}

void RunPostponedDeallocsSlow(ThreadState& thread) {
  while (const EntryId id = thread.postponed) {
    thread.postponed = Entries().At(id).next.load(std::memory_order_relaxed);
    DeallocEntry(id);
  }
}

}  // namespace allomon::internal
