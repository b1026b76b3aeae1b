#include "runtime/internal/collect/limit.h"

#include <algorithm>

#include "runtime/internal/object/check.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {

// Counts the words up to the cursor.  None of them is a hit, by construction of the limit.
void Sync(Mutator& mutator) {
  if (mutator.window->cursor == mutator.synced && mutator.old.IsSynced()) return;
  const uint64_t words = (mutator.window->cursor - mutator.synced) / kWordBytes;
  mutator.synced = mutator.window->cursor;
  mutator.allocated_words += words;
  mutator.survival.Pass(words);
  const uint64_t old_words = mutator.old.Sync();
  if (old_words != 0) mutator.heap->CountBornOld(old_words, old_words * kWordBytes);
  mutator.survival.PassOld(old_words);
  mutator.sampler.Pass(words + old_words);
  ALLOMON_DCHECK_LE("inv.limit", mutator.used_bytes(), mutator.nursery.granted_bytes());
  ALLOMON_GC_CHECK(mutator.sampler.words_left() >= 0,
                   "inv.sample.gap: words passed beyond the next hit");
}

namespace {

// The words before the next sample are shared out between the nursery and the old window.  Each
// word stands trial when it is allocated: a slow path counts both before it judges.
void ShareGap(Mutator& mutator) {
  uint64_t left = static_cast<uint64_t>(mutator.sampler.words_left());
  uint64_t old_words =
      std::min({mutator.old.room_words(), left / 2, mutator.survival.old_words_left()});
  // A profile's clock is told of each object.
  if (allomon::internal::managed_profiler.load(std::memory_order_relaxed) != nullptr) old_words = 0;
  mutator.old.SetLimit(old_words);
  left = std::min(left - old_words, mutator.survival.words_left());
  mutator.uncut_limit = mutator.window->cursor +
                        std::min(left, mutator.nursery.room_bytes() / kWordBytes) * kWordBytes;
}

bool WantsAttention(Mutator& mutator) {
  return mutator.no_allocation != 0 || !mutator.runs() || mutator.heap->options.stress_every != 0 ||
         mutator.log_is_short ||
         (mutator.heap->AnyDue() && !mutator.in_finalizer && !heap_client::InCallback()) ||
         mutator.MayRunRequest();
}

}  // namespace

void PublishLimit(Mutator& mutator) {
  ALLOMON_DCHECK("inv.mutator.state", mutator.runs() && t_window.mutator == &mutator);
  Sync(mutator);
  ShareGap(mutator);
  const uintptr_t limit = Nursery::CutAtRun(mutator.uncut_limit, mutator.window->cursor);
  mutator.window->limit.store(WantsAttention(mutator) ? 0 : limit, std::memory_order_relaxed);
  // Pairs with the fences in World::RequestStopLocked() and in the tracker's PublishLocked().
  // Either this thread sees the request below, or the requester overwrites this limit.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mutator.heap->world.stopping() || mutator.sampler.stale() || mutator.MayRunRequest()) {
    mutator.window->limit.store(0, std::memory_order_relaxed);
  }
  ALLOMON_DCHECK("inv.log.short", !mutator.log_is_short ||
                                      mutator.window->limit.load(std::memory_order_relaxed) == 0);
}

}  // namespace allomon::gc::internal
