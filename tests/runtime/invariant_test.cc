// A broken invariant stops a debug build with a line that names it.  A release build has no checks
// and goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "runtime/heap.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/standing.h"
#include "tracker/base/check.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

// Runs `breaks` in a process of its own, and expects the end that this build promises.
template <typename Breaks>
void ExpectStop(Breaks breaks, const char* invariant) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [&breaks] {
    breaks();
    _exit(0);  // skips the destructors
  };
  if (allomon::internal::kDebugChecks) {
    EXPECT_DEATH(run(), invariant);
  } else {
    EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
  }
}

HeapOptions Options() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  return options;
}

TEST(InvariantDeathTest, ReferenceToAYoungObjectThatNobodyRemembers) {
  ExpectStop(
      [] {
        const auto heap = Heap::Create(Options()).value();
        const Mutator mutator(*heap);
        const Root<Cell> old = make<Cell>(1, nullptr);
        heap->CollectFromTop(CollectionKind::kMinor);
        old->tail = make<Cell>(2, nullptr);
        internal::t_window.log_top = internal::t_window.mutator->log;
        heap->CollectFromTop(CollectionKind::kMinor);
      },
      "inv.remembered");
}

TEST(InvariantDeathTest, WorldThatGoesOnWithoutHavingStood) {
  ExpectStop(
      [] {
        const auto heap = Heap::Create(Options()).value();
        heap->core().world.Resume();
      },
      "inv.world");
}

TEST(InvariantDeathTest, ThreadThatStandsTwice) {
  ExpectStop(
      [] {
        const auto heap = Heap::Create(Options()).value();
        const Mutator mutator(*heap);
        internal::EnterNative(*internal::t_window.mutator);
        internal::EnterNative(*internal::t_window.mutator);
        _exit(0);  // every build checks that a mutator does not end in native code
      },
      "inv.mutator.state");
}

TEST(InvariantDeathTest, CursorBeyondWhatWasGranted) {
  ExpectStop(
      [] {
        const auto heap = Heap::Create(Options()).value();
        const Mutator mutator(*heap);
        internal::t_window.cursor += internal::t_window.mutator->nursery.granted_bytes() + 8;
        internal::Sync(*internal::t_window.mutator);
        _exit(0);  // the end of the mutator would write there
      },
      "inv.limit");
}

TEST(InvariantDeathTest, SampleWithoutRoomInTheTable) {
  ExpectStop(
      [] {
        const auto heap = Heap::Create(Options()).value();
        const Mutator mutator(*heap);
        internal::t_window.mutator->new_samples.Unpromise();
      },
      "inv.sample.room");
}

}  // namespace
}  // namespace allomon::gc
