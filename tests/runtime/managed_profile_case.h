// Managed functions that allocate, and a heap whose profile is compared with the heap's own
// counters.
#ifndef ALLOMON_TESTS_RUNTIME_MANAGED_PROFILE_CASE_H_
#define ALLOMON_TESTS_RUNTIME_MANAGED_PROFILE_CASE_H_

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/support/profile_bytes.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/profile.h"

namespace allomon::gc {

struct Cell {
  long value;
  Field<Cell> next;
};
inline constexpr int64_t kCellBytes = 24;  // with its header

inline const ManagedFunction kBuild = RegisterManagedFunction("build", "list.ml", 3);
inline const ManagedFunction kSmall = RegisterManagedFunction("small", "list.ml", 7);
inline const ManagedFunction kLarge = RegisterManagedFunction("large", "list.ml", 9);
inline const ManagedFunction kOpen = RegisterManagedFunction("open", "list.ml", 11);

// Makes n cells, as kBuild.
inline Local<Cell> Build(int n) {
  const ManagedCall call(kBuild);
  Local<Cell> list;
  for (int i = 0; i < n; ++i) list = make<Cell>(i, list);
  return list;
}

// Makes two cells as the function kSmall, and between them calls Build(2).
inline void Small() {
  const ManagedCall call(kSmall);
  make<Cell>(0, nullptr);
  Build(2);
  make<Cell>(0, nullptr);
}

// Makes two cells in an ALLOMON_FUNCTION(), and between them calls Small().
inline void Scope() {
  ALLOMON_FUNCTION();
  make<Cell>(0, nullptr);
  Small();
  make<Cell>(0, nullptr);
}

class ManagedProfileTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = heap_->statistics(); }
  void TearDown() override;

  static void Start(ProfileStyle style = ProfileStyle::kCurrent,
                    ProfileKind kind = ProfileKind::kAlloc);

  // Stops, and compares the profile with the heap's counts since the test began.
  NamedProfile StopAndCompare();
  static int64_t Bytes(const NamedProfile& profile, const char* function);

  std::unique_ptr<Heap> heap_ = Heap::Create().value();
  Mutator mutator_{*heap_};
  HeapStatistics before_;
  const ProfileData data_ = Profile::Malloc().value();
  ScopedProfileData unit_{data_};
};

inline void ManagedProfileTest::TearDown() {
  Profile::Stop().IgnoreError();
  EXPECT_TRUE(unit_.Restore().ok());
  EXPECT_TRUE(Profile::Free(data_).ok());
}

inline void ManagedProfileTest::Start(ProfileStyle style, ProfileKind kind) {
  ProfileOptions options;
  options.kind = kind;
  options.style = style;
  ASSERT_TRUE(Profile::Start(options).ok());
}

inline NamedProfile ManagedProfileTest::StopAndCompare() {
  EXPECT_TRUE(Profile::Stop().ok());
  const HeapStatistics after = heap_->statistics();
  NamedProfile profile = testing::Attributed(data_);
  const auto words = [](uint64_t now, uint64_t then) { return 8 * MlmonInt(now - then); };
  EXPECT_TRUE(profile.mlmon.total == words(after.allocated_words, before_.allocated_words));
  EXPECT_TRUE(profile.mlmon.total_gc == words(after.promoted_words, before_.promoted_words));
  return profile;
}

inline int64_t ManagedProfileTest::Bytes(const NamedProfile& profile, const char* function) {
  return static_cast<int64_t>(testing::CountOf(profile, function).current);
}

}  // namespace allomon::gc

#endif  // ALLOMON_TESTS_RUNTIME_MANAGED_PROFILE_CASE_H_
