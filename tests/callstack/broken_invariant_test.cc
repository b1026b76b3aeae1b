// A broken invariant stops a build with checks by a line that names it, and does no harm in other
// builds.
#include <gtest/gtest.h>

#include "tests/callstack/frames.h"
#include "tests/support/expect_stops.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/callstack/replay_thread.h"

namespace allomon {
namespace {

constexpr size_t kRoom = 256;

__attribute__((noinline)) size_t CaptureHere(size_t max_frames) {
  uintptr_t frames[kRoom];
  bool truncated;
  return CaptureCallstack(ALLOMON_CALLER_FRAME(), frames, max_frames, &truncated);
}

// Opens two calls; the inner one claims a position nearer to the stack's outer end.
void CaptureWithCallsInTheWrongOrder(void*) {
  const ManagedFunction function = RegisterManagedFunction("f", "f.ml", 1);
  const ManagedCall outer(function);
  const ManagedCall inner(function);
  internal::managed_stack.top[-1].frame = internal::managed_stack.top[-2].frame + 8;
  CaptureHere(kRoom);
}

// Captures the same stack until the thread has a block, and twice more; calls `spoil` before the
// last time.
template <typename Spoil>
void CaptureRepeatedly(Spoil spoil) {
  constexpr int kLast = internal::kWalkedCaptures + 1;
  // Volatile, so that there is one call, and each capture starts at the same pc.
  for (volatile int i = 0; i <= kLast; i = i + 1) {
    if (i == kLast) spoil(internal::replay_thread.block);
    CaptureHere(i == kLast ? kRoom : 5);
  }
}

void CaptureWithAnothersBlock(void*) {
  CaptureRepeatedly([](internal::ReplayBlock* block) { block->owner = nullptr; });
}

// Makes the record of a capture with little room, which claims that the stack ends there.
void CaptureWithAWrongRecord(void*) {
  CaptureRepeatedly([](internal::ReplayBlock* block) { block->record.SetComplete(); });
}

TEST(BrokenInvariant, ManagedCallsInTheWrongOrder) {
  EXPECT_STOPS(testing::CallAtDepth(10, CaptureWithCallsInTheWrongOrder, nullptr),
               "inv.managed.order");
}

#if defined(__x86_64__)
TEST(BrokenInvariant, BlockOfAnotherThread) {
  EXPECT_STOPS(testing::CallAtDepth(10, CaptureWithAnothersBlock, nullptr), "inv.replay.own");
}

TEST(BrokenInvariant, RecordThatIsNotTheStacks) {
  EXPECT_STOPS(testing::CallAtDepth(10, CaptureWithAWrongRecord, nullptr), "inv.replay.exact");
}
#endif

}  // namespace
}  // namespace allomon
