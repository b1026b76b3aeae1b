// A program without ALLOMON_FUNCTION() is attributed by its symbol table.
#include <string>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/profile_bytes.h"
#include "tracker/profile/profile.h"

namespace allomon {

// Not in the anonymous namespace: its symbol is what we look for.
__attribute__((noinline)) void* NativeCaller(size_t size_bytes) {
  void* block = SamplingMalloc(size_bytes);
  asm volatile("" : : "r"(block) : "memory");  // not a tail call
  return block;
}

namespace {

TEST(NativeAttributionTest, CallerOfMallocIsChargedByItsSymbol) {
  const ProfileData data = Profile::Malloc().value();
  const ScopedProfileData unit(data);
  ASSERT_TRUE(Profile::Start().ok());
  SamplingFree(NativeCaller(12345));
  ASSERT_TRUE(Profile::Stop().ok());
  const AttributedProfile profile = testing::Attributed(data);
  EXPECT_FALSE(profile.self_described);
  ASSERT_EQ(profile.sources.names.size(), 4u);
  EXPECT_EQ(profile.sources.names[3].name, "allomon::NativeCaller(unsigned long)");
  EXPECT_TRUE(profile.mlmon.masters[3].current == 12345);
  EXPECT_EQ(profile.mlmon.magic, ContentMagic(profile.sources));
}

// Resolving symbols allocates far more than the program did.
TEST(NativeAttributionTest, WritingAProfileDoesNotChargeItselfToTheProgram) {
  const ProfileData data = Profile::Malloc().value();
  const ScopedProfileData unit(data);
  ASSERT_TRUE(Profile::Start().ok());
  SamplingFree(NativeCaller(100));
  const std::string directory = ::testing::TempDir();
  ASSERT_TRUE(Profile::Write(directory + "/first.out", data).ok());
  ASSERT_TRUE(Profile::Write(directory + "/second.out", data).ok());
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_TRUE(testing::Attributed(data).mlmon.total == 100);
}

}  // namespace
}  // namespace allomon
