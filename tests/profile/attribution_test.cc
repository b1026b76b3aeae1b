// Attribution of bytes to functions, with and without ALLOMON_FUNCTION(); and the shadow stacks
// that it reads.
#include "tracker/profile/write/attribution.h"

#include <cmath>
#include <thread>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/statistics.h"
#include "tracker/profile/control/snapshot.h"
#include "tracker/profile/profile.h"
#include "tracker/profile/record/thread_attachment.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using testing::Attributed;
using testing::CurrentOf;

void Allocate(size_t size_bytes) { SamplingFree(SamplingMalloc(size_bytes)); }

void Inner() {
  ALLOMON_FUNCTION();
  Allocate(1000);
}

void Outer() {
  ALLOMON_FUNCTION();
  Allocate(100);
  Inner();
  Allocate(10);
}

[[maybe_unused]] void NeverCalled() { ALLOMON_FUNCTION(); }

void Throws() {
  ALLOMON_FUNCTION();
  throw 1;
}

class AttributionTest : public ::testing::Test {
 protected:
  void TearDown() override { Profile::Stop().IgnoreError(); }

  const ProfileData data_ = Profile::Malloc().value();
  ScopedProfileData unit_{data_};
};

TEST_F(AttributionTest, InnermostScopeIsChargedExactlyAtRateOne) {
  ASSERT_TRUE(Profile::Start().ok());
  Outer();
  Allocate(1);
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(CurrentOf("allomon::Inner", data_), 1000);
  EXPECT_EQ(CurrentOf("allomon::Outer", data_), 110);
  EXPECT_EQ(CurrentOf("<main>", data_), 1);
  EXPECT_EQ(CurrentOf("allomon::NeverCalled", data_), 0);
}

TEST_F(AttributionTest, ExceptionClosesTheScope) {
  ASSERT_TRUE(Profile::Start().ok());
  EXPECT_THROW(Throws(), int);
  Allocate(7);
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(CurrentOf("allomon::Throws", data_), 0);
  EXPECT_EQ(CurrentOf("<main>", data_), 7);
}

TEST_F(AttributionTest, UnitOfAnotherThreadIsItsOwn) {
  ASSERT_TRUE(Profile::Start().ok());
  const ProfileData other = Profile::Malloc().value();
  std::thread([other] {
    const ScopedProfileData unit(other);
    Inner();
  }).join();
  Inner();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(CurrentOf("allomon::Inner", other), 1000);
  EXPECT_EQ(CurrentOf("allomon::Inner", data_), 1000);
}

TEST_F(AttributionTest, ThreadsAddUp) {
  ASSERT_TRUE(Profile::Start().ok());
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([this] {
      const ScopedProfileData unit(data_);
      for (int i = 0; i < 1000; ++i) Inner();
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(CurrentOf("allomon::Inner", data_), 4 * 1000 * 1000);
}

TEST_F(AttributionTest, SampledEstimateLiesWithinItsOwnInterval) {
  ProfileOptions options;
  options.rate = 1e-3;
  options.seed = 3;
  ASSERT_TRUE(Profile::Start(options).ok());
  for (int i = 0; i < 20000; ++i) Inner();
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = Attributed(data_);
  EXPECT_GT(profile.variance, 0);
  EXPECT_NEAR(static_cast<double>(profile.mlmon.total), 20000 * 1000,
              testing::kSigmas * std::sqrt(profile.variance));
}

// The written numbers must add up, whatever the rounding.
TEST_F(AttributionTest, TotalIsTheSumOfTheRows) {
  ProfileOptions options;
  options.rate = 0.01;
  options.seed = 4;
  ASSERT_TRUE(Profile::Start(options).ok());
  for (int i = 0; i < 1000; ++i) Outer();
  ASSERT_TRUE(Profile::Stop().ok());
  const Mlmon mlmon = Attributed(data_).mlmon;
  MlmonInt sum = 0;
  for (const MlmonCount& count : mlmon.splits) sum += count.current;
  EXPECT_TRUE(sum == mlmon.total + mlmon.total_gc);
  EXPECT_EQ(mlmon.splits.size(), mlmon.masters.size());
}

TEST_F(AttributionTest, FilesOfOneProgramShareTheirMagic) {
  ASSERT_TRUE(Profile::Start().ok());
  Inner();
  const uint32_t first = Attributed(data_).mlmon.magic;
  Outer();
  EXPECT_EQ(Attributed(data_).mlmon.magic, first);
  EXPECT_EQ(SourceTableOf(internal::FunctionsOfProgram()).magic, first);
}

TEST_F(AttributionTest, StartingTwiceAndStoppingTwiceFail) {
  ASSERT_TRUE(Profile::Start().ok());
  EXPECT_EQ(Profile::Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(Profile::Stop().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AttributionTest, ProfileRunsBesideATracker) {
  struct Counting {
    std::optional<int> alloc_major(const Allocation&) { return ++*count, 1; }
    int* count;
  };
  int count = 0;
  ASSERT_TRUE(Profile::Start().ok());
  ASSERT_TRUE(Tracker::start(1, Counting{&count}).ok());
  Inner();
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(count, 1);
  EXPECT_EQ(CurrentOf("allomon::Inner", data_), 1000);
}

}  // namespace

// The shadow stacks that ended threads leave to others.

namespace internal {
namespace {

constexpr size_t kPageEntries = 4096 / sizeof(ShadowEntry);

template <typename Use>
void RunAttached(Use use) {
  std::thread([&use] {
    AttachThread();
    use(thread_profile.bottom);
  }).join();
}

// Beyond the first page stays what is not given back.
TEST(ThreadAttachmentTest, OnlyADeepThreadGivesPagesBack) {
  ShadowEntry* first = nullptr;
  RunAttached([&](ShadowEntry* stack) {
    ASSERT_NE(first = stack, nullptr);
    stack[kPageEntries - 1].frame = stack[kPageEntries].frame = 1;
  });
  RunAttached([&](ShadowEntry* stack) {
    ASSERT_EQ(stack, first);
    EXPECT_EQ(stack[kPageEntries].frame, 0u);
    stack[kPageEntries].frame = 2;
  });
  RunAttached([&](ShadowEntry* stack) {
    ASSERT_EQ(stack, first);
    EXPECT_EQ(stack[kPageEntries].frame, 2u) << "a short thread has made a system call";
  });
}

}  // namespace
}  // namespace internal
}  // namespace allomon
