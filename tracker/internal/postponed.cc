#include "tracker/internal/postponed.h"

#include "tracker/internal/entries.h"
#include "tracker/internal/thread_state.h"

namespace allomon::internal {
namespace {

// Reverses a list linked through Entry::next: it was pushed newest first.
EntryId Reverse(EntryId head) {
  EntryId reversed = 0;
  while (head != 0) {
    Entry& entry = Entries().At(head);
    const EntryId next = entry.next.load(std::memory_order_relaxed);
    entry.next.store(reversed, std::memory_order_relaxed);
    reversed = head;
    head = next;
  }
  return reversed;
}

}  // namespace

void PostponeDealloc(ThreadState& thread, EntryId entry) {
  Entries().At(entry).next.store(thread.postponed, std::memory_order_relaxed);
  thread.postponed = entry;
}

void RunPostponedDeallocsSlow(ThreadState& thread) {
  while (thread.postponed != 0) {
    EntryId id = Reverse(thread.postponed);
    thread.postponed = 0;
    while (id != 0) {
      const EntryId next = Entries().At(id).next.load(std::memory_order_relaxed);
      DeallocEntry(id);
      id = next;
    }
  }
}

}  // namespace allomon::internal
