// A program without ALLOMON_FUNCTION() is attributed by its symbol table.
#include <cstdint>
#include <optional>
#include <string>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/profile_bytes.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/profile/profile.h"
#include "tracker/profile/write/attribution.h"
#include "tracker/tracker.h"

namespace allomon {
// Not in the anonymous namespace: the test looks for this symbol.
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
  const NamedProfile profile = testing::Attributed(data);
  EXPECT_FALSE(profile.self_described);
  ASSERT_EQ(profile.sources.names.size(), 4u);
  EXPECT_EQ(profile.sources.names[3].name, "allomon::NativeCaller(unsigned long)");
  EXPECT_TRUE(profile.mlmon.masters[3].current == 12345);
  EXPECT_EQ(profile.mlmon.magic, ContentMagic(profile.sources));
}

// The hooks' line stays where the charged code misses no names.
TEST(NativeAttributionTest, MissingNamesOfHooksAreSaid) {
  const internal::LoadedModule gone = {"/nowhere/libgone.so", "00", 0, {}, {}};
  ProfileSnapshot snapshot;
  snapshot.charge = ProfileSnapshot::Charge::kSymbols;
  snapshot.functions.hooks = {internal::UnloadedBias(gone) + 16};
  EXPECT_EQ(Attribute(snapshot).missing_names.find("/nowhere/libgone.so is not there any more"),
            0u);
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

struct Keeps {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
};
struct Counts {
  std::optional<int> alloc_major(const Allocation&) { return std::nullopt; }
};

// Calls deeper than the call stack that the profile requests, but not deeper than the one that the
// trackers request.
__attribute__((noinline)) void AllocateUnder(int frames) {
  if (frames == 0) {
    SamplingFree(NativeCaller(12345));
  } else {
    AllocateUnder(frames - 1);
  }
  asm volatile("" : : : "memory");  // not a tail call
}

template <typename UserTracker>
void ExpectExactBeside(double rate, uint64_t expected_reports) {
  const ProfileData data = Profile::Malloc().value();
  const ScopedProfileData unit(data);
  StartOptions options;
  options.callstack_size = 128;
  const auto tracker = Tracker::start(rate, UserTracker{}, options);
  ASSERT_TRUE(tracker.ok());
  ASSERT_TRUE(Profile::Start().ok());
  AllocateUnder(60);
  AllocateUnder(60);
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = testing::Attributed(data);
  ASSERT_EQ(profile.sources.names.size(), 4u);
  EXPECT_EQ(profile.sources.names[3].name, "allomon::NativeCaller(unsigned long)");
  EXPECT_TRUE(profile.mlmon.masters[3].current == 2 * 12345);
  EXPECT_EQ(Tracker::statistics(*tracker)->reported_blocks, expected_reports);
  ASSERT_TRUE(Tracker::stop(*tracker).ok());
}

// A block may reach the profile together with a tracker in three ways: the tracker follows it,
// counts it with callbacks, or would follow it at a rate at which it never does.
TEST(NativeAttributionTest, ATrackerBesideItChangesNothing) {
  ExpectExactBeside<Keeps>(1, 2);
  ExpectExactBeside<Counts>(1, 2);
  ExpectExactBeside<Keeps>(1e-18, 0);
}

struct Named {
  const char* signature;
  const char* name;
};

class FunctionNameTest : public ::testing::TestWithParam<Named> {};

TEST_P(FunctionNameTest, QualifiedNameIsCutOut) {
  EXPECT_EQ(FunctionNameOf(GetParam().signature), GetParam().name);
}

// The texts are those of __PRETTY_FUNCTION__ from g++ 12 and clang 14.
INSTANTIATE_TEST_SUITE_P(
    BothCompilers, FunctionNameTest,
    ::testing::Values(
        Named{"long unsigned int fib(long unsigned int)", "fib"},
        Named{"unsigned long fib(unsigned long)", "fib"}, Named{"int S::m(int) const", "S::m"},
        Named{"int main()", "main"}, Named{"S::S(int)", "S::S"}, Named{"S::~S()", "S::~S"},
        Named{"T ns::add(T) [with T = char]", "ns::add [T = char]"},
        Named{"T ns::add(T) [T = char]", "ns::add [T = char]"},
        Named{"std::vector<int> f(std::map<int, void (*)(int)>)", "f"},
        Named{"const char* name(int)", "name"}, Named{"const char *name(int)", "name"},
        Named{"{anonymous}::Boxed {anonymous}::fib(const Boxed&)", "fib"},
        Named{"(anonymous namespace)::Boxed (anonymous namespace)::fib(const Boxed &)", "fib"},
        Named{"main(int, char**)::<lambda(int)>", "main(int, char**)::<lambda(int)>"},
        Named{"bool operator<(S, S)", "bool operator<(S, S)"}, Named{"", ""}, Named{"(", "("},
        Named{")", ")"}, Named{"odd", "odd"}));

}  // namespace
}  // namespace allomon
