// Units of profiling data: the behaviour of MLton.Profile, its errors, and the faults of MLton that
// ours must not have.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/profile_bytes.h"
#include "tracker/managed_profiler.h"
#include "tracker/profile/profile.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon {
namespace {

using testing::StackOf;
using testing::TotalOf;

void Leaf() {
  ALLOMON_FUNCTION();
  SamplingFree(SamplingMalloc(8));
}

template <typename Call>
void Around(Call call) {
  ALLOMON_FUNCTION();
  call();
}

void ExpectRefused(const absl::Status& status, const std::string& words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), words);
}

class DataUnitsTest : public ::testing::TestWithParam<ProfileKind> {
 protected:
  void SetUp() override {
    ProfileOptions options;
    options.kind = GetParam();
    options.style = ProfileStyle::kStack;
    ASSERT_TRUE(Profile::Start(options).ok());
  }
  void TearDown() override { Profile::Stop().IgnoreError(); }

  // The amount of one call of Leaf().
  int64_t Unit() const { return GetParam() == ProfileKind::kCount ? 1 : 8; }
  const ProfileData unit_ = Profile::Malloc().value();
};

INSTANTIATE_TEST_SUITE_P(, DataUnitsTest,
                         ::testing::Values(ProfileKind::kAlloc, ProfileKind::kCount),
                         [](const auto& info) {
                           return info.param == ProfileKind::kAlloc ? "Alloc" : "Count";
                         });

TEST_P(DataUnitsTest, MallocGivesAnEmptyUnitThatEqualsOnlyItself) {
  const ProfileData other = Profile::Malloc().value();
  EXPECT_EQ(unit_, ProfileData(unit_));
  EXPECT_NE(unit_, other);
  EXPECT_NE(unit_, ProfileData());
  EXPECT_EQ(TotalOf(other), 0);
  EXPECT_TRUE(Profile::Free(other).ok());
}

TEST_P(DataUnitsTest, FreedTwice) {
  EXPECT_TRUE(Profile::Free(unit_).ok());
  ExpectRefused(Profile::Free(unit_), "free of freed profile data");
}

// Another unit already uses the slot of the old one.
TEST_P(DataUnitsTest, OldNameDoesNotFreeItsSuccessor) {
  EXPECT_TRUE(Profile::Free(unit_).ok());
  const ProfileData successor = Profile::Malloc().value();
  EXPECT_EQ(successor.slot(), unit_.slot());
  ExpectRefused(Profile::Free(unit_), "free of freed profile data");
  EXPECT_TRUE(Profile::WithData(successor, Leaf).ok());
  EXPECT_EQ(TotalOf(successor), Unit());
  EXPECT_EQ(TotalOf(unit_), 0);
}

TEST_P(DataUnitsTest, FreedWhileCurrentHere) {
  EXPECT_TRUE(Profile::WithData(unit_, [this] {
                EXPECT_EQ(Profile::Current(), unit_);
                ExpectRefused(Profile::Free(unit_), "free of current profile data");
              }).ok());
  EXPECT_TRUE(Profile::Free(unit_).ok());
}

TEST_P(DataUnitsTest, FreedWhileCurrentInAnotherThread) {
  EXPECT_TRUE(Profile::WithData(unit_, [this] {
                std::thread([this] {
                  EXPECT_EQ(Profile::Current(), ProfileData());
                  ExpectRefused(Profile::Free(unit_), "free of current profile data");
                }).join();
              }).ok());
}

TEST_P(DataUnitsTest, DefaultUnitCannotBeFreed) {
  ExpectRefused(Profile::Free(ProfileData()), "free of the default profile data");
}

TEST_P(DataUnitsTest, WriteOfAFreedUnitWritesNothing) {
  const std::string path = ::testing::TempDir() + "/freed.out";
  EXPECT_TRUE(Profile::Free(unit_).ok());
  ExpectRefused(Profile::Write(path, unit_), "write of freed profile data");
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_EQ(Profile::Summary(unit_), "");
}

TEST_P(DataUnitsTest, SwitchToAFreedUnitDoesNotRun) {
  EXPECT_TRUE(Profile::Free(unit_).ok());
  bool ran = false;
  ExpectRefused(Profile::WithData(unit_, [&ran] { ran = true; }),
                "setCurrent of freed profile data");
  EXPECT_FALSE(ran);
  EXPECT_EQ(Profile::Current(), ProfileData());
}

// MLton frees the unit that is then current, and crashes later.
TEST_P(DataUnitsTest, OuterUnitFreedMeanwhileLeavesTheThreadInTheDefaultOne) {
  const ProfileData inner = Profile::Malloc().value();
  absl::Status inner_status;
  const absl::Status outer_status = Profile::WithData(unit_, [&] {
    Around([&] {
      inner_status = Profile::WithData(inner, [this] { EXPECT_TRUE(Profile::Free(unit_).ok()); });
      Leaf();
    });
  });
  ExpectRefused(inner_status, "setCurrent of freed profile data");
  EXPECT_TRUE(outer_status.ok());
  EXPECT_EQ(Profile::Current(), ProfileData());
  EXPECT_EQ(TotalOf(unit_), 0);
  Leaf();
}

TEST_P(DataUnitsTest, ExceptionRestoresTheOuterUnit) {
  const int64_t before = TotalOf();
  EXPECT_THROW(Profile::WithData(unit_,
                                 [] {
                                   Leaf();
                                   throw std::runtime_error("out");
                                 })
                   .IgnoreError(),
               std::runtime_error);
  EXPECT_EQ(Profile::Current(), ProfileData());
  Leaf();
  EXPECT_EQ(TotalOf(unit_), Unit());
  EXPECT_EQ(TotalOf(), before + Unit());
}

TEST_P(DataUnitsTest, NestingTheSameUnitAndBackIsFine) {
  const ProfileData other = Profile::Malloc().value();
  EXPECT_TRUE(Profile::WithData(unit_, [&] {
                Profile::WithData(unit_, Leaf).IgnoreError();
                Profile::WithData(other, [&] {
                  Leaf();
                  Profile::WithData(unit_, Leaf).IgnoreError();
                }).IgnoreError();
                Leaf();
              }).ok());
  EXPECT_EQ(TotalOf(unit_), 3 * Unit());
  EXPECT_EQ(TotalOf(other), Unit());
}

// MLton counts an exit of a function that the unit never saw enter: stack times underflow.
TEST_P(DataUnitsTest, LeavingBelowTheSwitchDoesNotUnderflow) {
  Around([this] {
    const ScopedProfileData unit(unit_);
    Around(Leaf);
  });
  const NamedProfile profile = testing::Attributed(unit_);
  for (const MlmonCount& count : profile.mlmon.masters) {
    EXPECT_TRUE(count.stack >= count.current && count.stack <= profile.mlmon.total);
  }
  EXPECT_EQ(StackOf("allomon::Leaf", unit_), Unit());
}

// MLton's write omits the amounts of functions that are still on the stack.
TEST_P(DataUnitsTest, WriteInTheMiddleCountsFunctionsOnTheStackUpToNow) {
  const ScopedProfileData unit(unit_);
  Around([this] {
    Leaf();
    const NamedProfile profile = testing::Attributed(unit_);
    MlmonInt most = 0;
    for (size_t i = kMainSource + 1; i < profile.mlmon.masters.size(); ++i) {
      const std::string& name = profile.sources.names[i].name;
      if (name.find("Around") != std::string::npos) {
        most = std::max(most, profile.mlmon.masters[i].stack);
      }
    }
    EXPECT_TRUE(most == profile.mlmon.total);
  });
}

TEST_P(DataUnitsTest, UnitsOfSixteenThreadsAreTheirOwnAndMerge) {
  const int64_t before = TotalOf();
  std::vector<ProfileData> units;
  for (int i = 0; i < 4; ++i) units.push_back(Profile::Malloc().value());
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&units, i] {
      for (int j = 0; j < 500; ++j) {
        Leaf();
        Profile::WithData(units[i % 4], [] { Around(Leaf); }).IgnoreError();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t around = GetParam() == ProfileKind::kCount ? 1 : 0;
  for (const ProfileData unit : units) EXPECT_EQ(TotalOf(unit), 4 * 500 * (Unit() + around));
  EXPECT_EQ(TotalOf(), before + 16 * 500 * Unit());
  for (const ProfileData unit : units) EXPECT_TRUE(Profile::Free(unit).ok());
}

// The destructor of a key that is made after the profile's own runs after the profile's.
pthread_key_t g_late_key;
ProfileData g_late_unit;
bool g_switched = false;

void LeafInUnit(void*) {
  const ScopedProfileData scope(g_late_unit);
  g_switched = scope.status().ok() && Profile::Current() == g_late_unit;
  Leaf();
}

void EndThreadByLateKey() {
  g_switched = false;
  std::thread([] {
    Leaf();
    ASSERT_EQ(pthread_setspecific(g_late_key, &g_late_key), 0);
  }).join();
  EXPECT_TRUE(g_switched);
}

int64_t MappedBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages;
  return pages * getpagesize();
}

// A set of counts is 5 MiB of addresses.
TEST_P(DataUnitsTest, UnitInALaterKeyDestructorCountsAndLeaksNothing) {
  static const int made = pthread_key_create(&g_late_key, LeafInUnit);
  ASSERT_EQ(made, 0);
  g_late_unit = unit_;
  EndThreadByLateKey();
  const int64_t mapped_bytes = MappedBytes();
  for (int i = 0; i < 50; ++i) EndThreadByLateKey();
  EXPECT_LT(MappedBytes() - mapped_bytes, 100 << 20);
  EXPECT_EQ(TotalOf(unit_), 51 * Unit());
  EXPECT_TRUE(Profile::Free(unit_).ok());
}

TEST_P(DataUnitsTest, UnitsCanBeMadeAndFreedForEver) {
  uint32_t highest = 0;
  for (int i = 0; i < 100000; ++i) {
    const ProfileData unit = Profile::Malloc().value();
    highest = std::max(highest, unit.slot());
    ASSERT_TRUE(Profile::Free(unit).ok());
  }
  EXPECT_LT(highest, 50u);
}

// The child is inside the functions that its parent was executing.
TEST(RecordingTest, ForkedChildGoesOnInTheFunctionItWasBornIn) {
  ProfileOptions options;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  Leaf();
  Around([] {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      SamplingFree(SamplingMalloc(5));
      const NamedProfile profile = testing::Attributed();
      MlmonInt around = 0;
      for (size_t i = kMainSource + 1; i < profile.mlmon.masters.size(); ++i) {
        const MlmonCount& count = profile.mlmon.masters[i];
        if (count.current == 5 && count.stack == 5) ++around;
      }
      _exit(profile.mlmon.total == 5 && around == 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
  ASSERT_TRUE(Profile::Stop().ok());
}

const internal::ShadowEntry* g_top_in_scope = nullptr;

void NoteTop() {
  ALLOMON_FUNCTION();
  g_top_in_scope = internal::thread_profile.top;
}

// Imitates a signal handler that interrupts the thread at this point.
TEST(RecordingTest, ScopeInTheMiddleOfAChangeOfTheShadowStackIsCountedAndNotPushed) {
  ProfileOptions count;
  count.kind = ProfileKind::kCount;
  count.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(count).ok());
  Leaf();
  const internal::ShadowEntry* const top = internal::thread_profile.top;
  {
    const internal::BusyScope busy;
    NoteTop();
  }
  EXPECT_EQ(g_top_in_scope, top);
  EXPECT_EQ(internal::thread_profile.top, top);
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_TRUE(testing::CountOf(testing::Attributed(), "allomon::NoteTop").current == 1);
}

void Collect() {
  const CollectorScope collector;
  SamplingFree(SamplingMalloc(1000));
}

TEST(RecordingTest, CollectorIsChargedToGcAndToTheThirdColumnOfItsCallers) {
  ProfileOptions options;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  const ProfileData unit = Profile::Malloc().value();
  ASSERT_TRUE(Profile::WithData(unit, [] {
                Leaf();
                Around([] {
                  Collect();
                  Leaf();
                });
              }).ok());
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = testing::Attributed(unit);
  EXPECT_TRUE(profile.mlmon.total == 16);
  EXPECT_TRUE(profile.mlmon.total_gc == 1000);
  const MlmonCount gc = testing::CountOf(profile, "<gc>");
  EXPECT_TRUE(gc.current == 1000 && gc.stack == 0 && gc.stack_gc == 1000);
  const MlmonCount leaf = testing::CountOf(profile, "allomon::Leaf");
  EXPECT_TRUE(leaf.current == 16 && leaf.stack == 16 && leaf.stack_gc == 0);
  MlmonInt around_gc = 0;
  for (size_t i = kMainSource + 1; i < profile.mlmon.masters.size(); ++i) {
    around_gc += profile.mlmon.masters[i].stack_gc;
  }
  EXPECT_TRUE(around_gc == 1000);
}

TEST(RecordingTest, AnotherKindStartsEmptyAndTheSameGoesOn) {
  ProfileOptions count;
  count.kind = ProfileKind::kCount;
  ASSERT_TRUE(Profile::Start(count).ok());
  EXPECT_TRUE(Profile::IsOn());
  Leaf();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_FALSE(Profile::IsOn());
  Leaf();
  EXPECT_EQ(TotalOf(), 1);
  ASSERT_TRUE(Profile::Start(count).ok());
  Leaf();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(TotalOf(), 2);
  ASSERT_TRUE(Profile::Start().ok());
  Leaf();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(TotalOf(), 8);
}

// The counts of the last profile were dropped.
TEST(RecordingTest, OptionsThatMakeNoSenseLeaveTheCounts) {
  ProfileOptions options;
  options.kind = ProfileKind::kCount;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  Leaf();
  ASSERT_TRUE(Profile::Stop().ok());
  options = ProfileOptions();
  options.kind = ProfileKind::kTime;
  for (const uint32_t hz : {0u, 10001u}) {
    options.hz = hz;
    EXPECT_EQ(Profile::Start(options).code(), absl::StatusCode::kInvalidArgument);
  }
  options = ProfileOptions();
  for (const double rate : {2.0, -1.0, std::nan("")}) {
    options.rate = rate;
    EXPECT_EQ(Profile::Start(options).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(Profile::IsOn());
  EXPECT_EQ(TotalOf(), 1);
}

}  // namespace
}  // namespace allomon
