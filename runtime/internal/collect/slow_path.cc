#include "runtime/internal/collect/slow_path.h"

#include <sys/resource.h>

#include <algorithm>
#include <new>

#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/reserve.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/space/poison.h"
#include "runtime/internal/tables/pending_block.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {
namespace {

using heap_client::Block;
using heap_client::BlockHandle;
using heap_client::Verdict;

// The facts of an allocation that the sampling law and the callbacks use.
struct Request {
  uint64_t trial_words;  // header included
  uint64_t size_bytes;   // without header, as the callback is told
  AllocationSource source;
  bool young;
  const TypeInfo& type;
};

void RunRequest(Mutator& mutator) {
  if (!mutator.MayRunRequest()) return;
  if (!mutator.requested.exchange(false, std::memory_order_acquire)) return;
  if (mutator.heap->options.on_request != nullptr) mutator.heap->options.on_request();
}

void Attend(Mutator& mutator) {
  mutator.CheckMayAllocate();
  mutator.heap->world.ParkIfStopping(mutator);
  const uint32_t every = mutator.heap->options.stress_every;
  if (every != 0 && ++mutator.stress_count % every == 0) {
    const bool major = mutator.stress_count / every % 64 == 0;
    Collect(*mutator.heap, major ? CollectionKind::kMajor : CollectionKind::kMinor, &mutator);
  }
  if (mutator.log_is_short) Collect(*mutator.heap, CollectionKind::kMinor, &mutator);
  mutator.heap->RunDue(&mutator);
  RunRequest(mutator);
}

// Fits, or goes to a hole in which it does.
bool FindRoom(Mutator& mutator, size_t bytes) {
  if (mutator.nursery.Fits(bytes)) return true;
  if (mutator.used_bytes() + bytes > mutator.nursery.granted_bytes()) return false;
  Sync(mutator);
  if (!mutator.nursery.TakeHole(bytes)) return false;
  mutator.synced = mutator.window->cursor;
  return mutator.nursery.Fits(bytes);
}

// Collects until `bytes` fit; the thread stands at `entry` then.  Throws std::bad_alloc when
// nothing helps.
void MakeRoom(Mutator& mutator, size_t bytes, const StandPoint& entry) {
  do {
    if (FindRoom(mutator, bytes)) return;
  } while (!CollectForRoom(*mutator.heap, mutator, entry));
  if (FindRoom(mutator, bytes)) return;
  do {
    Collect(*mutator.heap, CollectionKind::kMajor, &mutator);
    if (FindRoom(mutator, bytes)) return;
  } while (mutator.heap->AskForMemory(bytes));
  throw std::bad_alloc();
}

// Judges and reports one block.  Returns the handle, 0 if it is not followed.
BlockHandle Sample(Mutator& mutator, const Request& request, FrameState caller) {
  // Callbacks at this safepoint have allocated in the present gap of the sampler; the judgement may
  // begin another gap.
  Sync(mutator);
  const Verdict verdict = heap_client::JudgeManagedSlow(mutator.sampler, request.trial_words);
  // The gap is shorter now, or a new one.  The limit 0 sends allocations of callbacks and of the
  // handler of a full heap to the slow path until the limit is published again.
  mutator.window->limit.store(0, std::memory_order_relaxed);
  if (verdict == Verdict::kNotSampled) return 0;
  Block block;
  block.size_bytes = request.size_bytes;
  block.source = request.source;
  block.young = request.young;
  block.type_name = request.type.name;
  std::exception_ptr thrown;
  const BlockHandle handle = heap_client::ReportManaged(mutator.sampler, block, caller, &thrown);
  if (thrown != nullptr) std::rethrow_exception(thrown);
  Sync(mutator);
  return handle;
}

// Whether no collection makes room for so many bytes: the limit, the processor's addresses, or
// those of the process are fewer.
bool IsHopeless(const HeapCore& heap, size_t bytes) {
  constexpr size_t kFewBytes = size_t{64} << 20;  // below, asking the system costs more
  constexpr size_t kAddresses = size_t{1} << 47;
  if (heap.options.limit_bytes != 0 && bytes > heap.options.limit_bytes) return true;
  if (bytes < kFewBytes) return false;
  rlimit addresses = {};
  return bytes >= kAddresses ||
         (getrlimit(RLIMIT_AS, &addresses) == 0 && bytes > addresses.rlim_cur);
}

bool FindOldRoom(Mutator& mutator, size_t bytes) {
  if (mutator.old.Fits(bytes)) return true;
  Sync(mutator);
  mutator.old.Close();
  char* const block = TakeOldBlock(*mutator.heap, &mutator);
  if (block != nullptr) mutator.old.Open(block, kBlockBytes);
  return block != nullptr;
}

}  // namespace

void SafepointSlow(Mutator& mutator) {
  const LimitPublisher publisher(mutator);
  Sync(mutator);
  Attend(mutator);
}

__attribute__((noinline)) static char* AllocateYoungFrom(const StandPoint& entry, Mutator& mutator,
                                                         size_t bytes, uintptr_t header,
                                                         AllocationSource source,
                                                         FrameState caller) {
  const LimitPublisher publisher(mutator);
  Sync(mutator);
  Attend(mutator);
  MakeRoom(mutator, bytes, entry);
  mutator.heap->RunDue(&mutator);
  const Request request = {bytes / kWordBytes, bytes - kWordBytes, source, true, TypeOf(header)};
  PendingBlock pending(mutator.heap->samples, mutator.new_samples,
                       Sample(mutator, request, caller));
  // Callbacks may have filled the nursery again.
  MakeRoom(mutator, bytes, entry);
  Sync(mutator);
  // From here on no user code runs, until the caller has written the header.
  ALLOMON_DCHECK("inv.sample.before",
                 mutator.nursery.Fits(bytes) && mutator.synced == mutator.window->cursor);
  char* start = reinterpret_cast<char*>(mutator.window->cursor);
  pending.Become(reinterpret_cast<Object*>(start + kWordBytes), true);
  mutator.window->cursor += bytes;
  mutator.nursery.NotePassed(reinterpret_cast<uintptr_t>(start));
  mutator.synced = mutator.window->cursor;  // Sample() has held the trials of these words
  mutator.allocated_words += bytes / kWordBytes;
  mutator.follow_next = mutator.survival.Take(bytes / kWordBytes);
  ALLOMON_GC_UNPOISON(start, bytes);
  return start;
}

// No frame below holds a reference.  If they were scanned, a word that one of them has left
// unwritten could keep an object of the first collection for as long as this function is called at
// this depth.
char* AllocateYoungSlow(Mutator& mutator, size_t bytes, uintptr_t header, AllocationSource source,
                        FrameState caller) {
  StandPoint entry;
  StandHere(entry);
  return AllocateYoungFrom(entry, mutator, bytes, header, source, caller);
}

// The block stays where it is, because the caller's stack refers to it.
void SampleCustom(Mutator& mutator, Object* block, uint64_t bytes, FrameState caller) {
  const LimitPublisher publisher(mutator);
  Sync(mutator);
  mutator.clock.Add(bytes);
  PendingBlock pending(mutator.heap->samples, mutator.new_samples,
                       Sample(mutator,
                              {BytesToWords(bytes), bytes, AllocationSource::kCustom,
                               IsYoung(block), TypeOf(HeaderOf(block))},
                              caller));
  pending.Become(block, IsYoung(block));
}

Object* AllocateLargeSlow(Mutator& mutator, uint64_t words, uint64_t size_bytes, uintptr_t header,
                          AllocationSource source, FrameState caller) {
  const LimitPublisher publisher(mutator);
  Sync(mutator);
  Attend(mutator);
  const size_t bytes = LargeSpace::BytesFor(words);
  if (IsHopeless(*mutator.heap, bytes)) throw std::bad_alloc();
  if (mutator.heap->WantsMajor(bytes)) CollectForGrowth(*mutator.heap, mutator, bytes);
  mutator.heap->RunDue(&mutator);
  PendingBlock pending(mutator.heap->samples, mutator.new_samples,
                       Sample(mutator, {words, size_bytes, source, false, TypeOf(header)}, caller));
  Object* object = mutator.heap->AllocateLarge(words);
  while (object == nullptr) {
    Collect(*mutator.heap, CollectionKind::kMajor, &mutator);
    object = mutator.heap->AllocateLarge(words);
    if (object == nullptr && !mutator.heap->AskForMemory(bytes)) throw std::bad_alloc();
  }
  // From here on no user code runs, until the caller has written the header.
  mutator.heap->CountBornOld(words, bytes);
  mutator.clock.Add(words * kWordBytes);
  pending.Become(object, false);
  return object;
}

char* AllocateOldSlow(Mutator& mutator, size_t bytes, uintptr_t header, FrameState caller) {
  const LimitPublisher publisher(mutator);
  Sync(mutator);
  Attend(mutator);
  if (!mutator.old.Fits(bytes) && mutator.heap->WantsMajor(kBlockBytes)) {
    CollectForGrowth(*mutator.heap, mutator, kBlockBytes);
  }
  mutator.heap->RunDue(&mutator);
  if (!FindOldRoom(mutator, bytes)) return nullptr;
  const Request request = {bytes / kWordBytes, bytes - kWordBytes, AllocationSource::kNormal, false,
                           TypeOf(header)};
  PendingBlock pending(mutator.heap->samples, mutator.new_samples,
                       Sample(mutator, request, caller));
  // Callbacks may have collected, which closes the window, or filled it.
  while (!FindOldRoom(mutator, bytes)) {
    Collect(*mutator.heap, CollectionKind::kMajor, &mutator);
    if (FindOldRoom(mutator, bytes)) break;
    if (!mutator.heap->AskForMemory(kBlockBytes)) throw std::bad_alloc();
  }
  Sync(mutator);
  // From here on no user code runs, until the caller has written the header.
  char* const start = mutator.old.Take(bytes);
  pending.Become(reinterpret_cast<Object*>(start + kWordBytes), false);
  mutator.old.Sync();  // Sample() has held the trials of these words
  mutator.heap->CountBornOld(bytes / kWordBytes, bytes);
  mutator.survival.PassOld(bytes / kWordBytes);
  if (allomon::internal::managed_profiler.load(std::memory_order_relaxed) != nullptr) {
    mutator.clock.Add(bytes);
  }
  return start;
}

}  // namespace allomon::gc::internal
