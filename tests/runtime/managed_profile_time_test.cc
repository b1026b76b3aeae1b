// Profiles of time while a managed heap collects.
#include <ctime>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/managed_profile_case.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/thread_timers.h"

namespace allomon::gc {
namespace {

using testing::Attributed;
using testing::CountOf;

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Takes at least that time, and ends right after a tick.  A tick charges the time since the last
// one to the place at which it comes, and on a busy machine it came 0.25 s late: the next place's
// tick must not find time of this place.
void BurnToATick(double seconds) {
  for (const double end = ThreadSeconds() + seconds; ThreadSeconds() < end;) {
  }
  ASSERT_NE(allomon::internal::thread_profile.timer, nullptr);
  const std::atomic<uint64_t>& charged_ns = allomon::internal::thread_profile.timer->charged_ns;
  const uint64_t before = charged_ns;
  while (charged_ns == before) ThreadSeconds();  // tsan delivers signals in calls
}

// Prolongs the first collection.  Another one comes when the mutator ends.
class SlowCollections : public HeapListener {
 public:
  void OnCollectionStart(CollectionKind) override {
    if (seconds_ != 0) return;
    const double start = ThreadSeconds();
    BurnToATick(0.5);
    seconds_ = ThreadSeconds() - start;
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

TEST(ManagedTimeTest, TimeOfCollectionsIsTheCollectors) {
  SlowCollections slow;
  HeapOptions heap_options;
  heap_options.listener = &slow;
  const auto heap = Heap::Create(heap_options).value();
  const Mutator mutator(*heap);
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  const double start = ThreadSeconds();
  {
    const ManagedCall call(kOpen);
    BurnToATick(0.3);
    heap->Collect(CollectionKind::kMinor);
    BurnToATick(0.2);
  }
  const double open_ticks = (ThreadSeconds() - start - slow.seconds()) * 100;
  ASSERT_TRUE(Profile::Stop().ok());

  const NamedProfile profile = Attributed();
  const MlmonCount open = CountOf(profile, "open");
  EXPECT_NEAR(static_cast<double>(open.current), open_ticks, 2);
  EXPECT_NEAR(static_cast<double>(profile.mlmon.total_gc), slow.seconds() * 100, 2);
  EXPECT_TRUE(profile.mlmon.total + profile.mlmon.total_gc > 98);
  EXPECT_TRUE(open.stack == open.current);
  EXPECT_TRUE(open.stack_gc == profile.mlmon.total_gc);
}

}  // namespace
}  // namespace allomon::gc
