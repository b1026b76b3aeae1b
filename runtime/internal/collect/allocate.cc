#include "runtime/internal/collect/allocate.h"

#include <algorithm>
#include <new>

#include "runtime/internal/collect/slow_path.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/tables/site_table.h"

namespace allomon::gc::internal {

namespace {

// Below this size no pages are taken in advance: memory that was used before already has its pages,
// and asking for them costs more than a small array.
constexpr size_t kLeastTakenBytes = size_t{1} << 20;
// A stop waits for the thread that takes pages.  8 MiB take 2 to 4 ms, and longer when other
// threads compete for the processors.
constexpr size_t kMostTakenBytes = size_t{8} << 20;
// The kernel holds a lock of the process during a call, for which other threads' mmap waits.
constexpr size_t kTakenAtOnceBytes = size_t{256} << 10;

// Marking reads all of an array.  A page that is read before it is written costs two faults, and
// the second one interrupts all processors on which the program runs.
void TakePagesOf(Object* array, uint64_t words) {
  const size_t bytes = std::min(words * kWordBytes, kMostTakenBytes);
  if (bytes < kLeastTakenBytes) return;
  char* const start = reinterpret_cast<char*>(array);
  for (size_t at = 0; at < bytes; at += kTakenAtOnceBytes) {
    TakePages(start + at, std::min(bytes - at, kTakenAtOnceBytes));
  }
}

}  // namespace

char* AllocateYoungSlow(size_t bytes, uintptr_t header, FrameState caller) {
  Mutator& mutator = CurrentMutator();
  if (char* const start = mutator.TryNextRun(bytes); start != nullptr) return start;
  return AllocateYoungSlow(mutator, bytes, header, AllocationSource::kNormal, caller);
}

// Born old, in a block of its own.
static Object* MakeLarge(uintptr_t header, uint64_t length, uint64_t words, FrameState caller) {
  if (words > kMostWords) throw std::bad_alloc();
  Object* object = AllocateLargeSlow(CurrentMutator(), words + 2, (words + 1) * kWordBytes, header,
                                     AllocationSource::kNormal, caller);
  if (TypeOf(header).kind == Kind::kArray) TakePagesOf(object, words);
  *WordsOf(object) = length;
  HeaderOf(object) = header | kLargeBit;
  return object;
}

Object* MakeSettled(uintptr_t header, uint64_t length, uint64_t words) {
  return MakeLarge(header, length, words, ALLOMON_CALLER_FRAME());
}

Object* MakeSizedSlow(uintptr_t header, uint64_t length, uint64_t words) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  if (words < kMaxYoungBytes / kWordBytes) {
    const size_t bytes = (words + 2) * kWordBytes;
    char* start = AllocateYoungSlow(bytes, header, caller);
    return InitSized(start, header, length, words);
  }
  return MakeLarge(header, length, words, caller);
}

// The allocations at sites.

static void MeetSiteSlow(Mutator& mutator, SiteState& site) {
  if (!mutator.heap->options.pretenure) return;
  if (!mutator.survival.on()) mutator.survival.Begin(mutator.heap->TakeSeed());
  SiteTable::Get().Meet(site);
}

static char* AllocateYoungAtSlow(Mutator& mutator, SiteState& site, bool follow, size_t bytes,
                                 uintptr_t header, FrameState caller) {
  char* start = follow ? nullptr : mutator.TryNextRun(bytes);
  if (start != nullptr) return start;
  start = AllocateYoungSlow(mutator, bytes, header, AllocationSource::kNormal, caller);
  if (follow || mutator.follow_next) {
    mutator.survival.FollowYoung(site, reinterpret_cast<Object*>(start + kWordBytes));
  }
  return start;
}

static Placed AllocateOldAtSlow(Mutator& mutator, SiteState& site, Survival::Turn turn,
                                size_t bytes, uintptr_t header, FrameState caller) {
  const bool young = turn == Survival::Turn::kYoung;
  char* const start = young ? nullptr : AllocateOldSlow(mutator, bytes, header, caller);
  if (start == nullptr) {
    return {AllocateYoungAtSlow(mutator, site, young, bytes, header, caller), false};
  }
  if (turn == Survival::Turn::kOld) {
    mutator.survival.FollowOld(site, reinterpret_cast<Object*>(start + kWordBytes));
  }
  return {start, true};
}

Placed AllocateAtSlow(SiteState& site, size_t bytes, uintptr_t header, FrameState caller) {
  Mutator& mutator = CurrentMutator();
  if (__builtin_expect(!mutator.survival.on() || !SiteTable::Knows(site), 0)) {
    MeetSiteSlow(mutator, site);
  }
  if (!site.allocates_old() || !mutator.survival.on()) {
    return {AllocateYoungAtSlow(mutator, site, false, bytes, header, caller), false};
  }
  return AllocateOldAtSlow(mutator, site, mutator.survival.TurnOfOld(bytes / kWordBytes), bytes,
                           header, caller);
}

}  // namespace allomon::gc::internal
