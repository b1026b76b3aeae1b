#include "tests/runtime/managed_profile_case.h"

namespace allomon::gc {

using testing::Attributed;
using testing::CountOf;

const ManagedFunction kBuild = RegisterManagedFunction("build", "list.ml", 3);
const ManagedFunction kSmall = RegisterManagedFunction("small", "list.ml", 7);
const ManagedFunction kLarge = RegisterManagedFunction("large", "list.ml", 9);
const ManagedFunction kOpen = RegisterManagedFunction("open", "list.ml", 11);

Local<Cell> Build(int n) {
  const ManagedCall call(kBuild);
  Local<Cell> list;
  for (int i = 0; i < n; ++i) list = make<Cell>(i, list);
  return list;
}

void Small() {
  const ManagedCall call(kSmall);
  make<Cell>(0, nullptr);
  Build(2);
  make<Cell>(0, nullptr);
}

void Scope() {
  ALLOMON_FUNCTION();
  make<Cell>(0, nullptr);
  Small();
  make<Cell>(0, nullptr);
}

void ManagedProfileTest::TearDown() {
  Profile::Stop().IgnoreError();
  EXPECT_TRUE(unit_.Restore().ok());
  EXPECT_TRUE(Profile::Free(data_).ok());
}

void ManagedProfileTest::Start(ProfileStyle style, ProfileKind kind) {
  ProfileOptions options;
  options.kind = kind;
  options.style = style;
  ASSERT_TRUE(Profile::Start(options).ok());
}

NamedProfile ManagedProfileTest::StopAndCompare() {
  EXPECT_TRUE(Profile::Stop().ok());
  const HeapStatistics after = heap_->statistics();
  NamedProfile profile = Attributed(data_);
  const auto words = [](uint64_t now, uint64_t then) { return 8 * MlmonInt(now - then); };
  EXPECT_TRUE(profile.mlmon.total == words(after.allocated_words, before_.allocated_words));
  EXPECT_TRUE(profile.mlmon.total_gc == words(after.promoted_words, before_.promoted_words));
  return profile;
}

int64_t ManagedProfileTest::Bytes(const NamedProfile& profile, const char* function) {
  return static_cast<int64_t>(CountOf(profile, function).current);
}

}  // namespace allomon::gc
