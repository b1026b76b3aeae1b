// Samples of an interpreter: managed and malloc blocks carry the interpreted functions.
#include <csetjmp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/support/profile_bytes.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/profile.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

const ManagedFunction kMain = RegisterManagedFunction("main", "program.ml", 1);
const ManagedFunction kEven = RegisterManagedFunction("even", "program.ml", 2);
const ManagedFunction kOdd = RegisterManagedFunction("odd", "program.ml", 3);

// An interpreter in two functions.  Even and odd call each other, and the innermost one allocates.
__attribute__((noinline)) void Allocate(bool managed) {
  if (managed) {
    make<Cell>(1, nullptr);
  } else {
    SamplingFree(SamplingMalloc(100));
  }
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void Apply(ManagedFunction function, int depth, bool managed) {
  const ManagedCall call(function);
  if (depth == 0) {
    Allocate(managed);
  } else {
    Apply(function.address() == kEven.address() ? kOdd : kEven, depth - 1, managed);
  }
}

// The names of the managed frames of each sample, innermost first.
struct Seen {
  std::mutex mutex;
  std::vector<std::string> managed_blocks, malloc_blocks;
  std::vector<size_t> depths;
};
class NameTracker {
 public:
  explicit NameTracker(Seen* seen) : seen_(seen) {}
  std::optional<int> alloc_minor(const Allocation& a) { return Add(a, &seen_->managed_blocks); }
  std::optional<int> alloc_major(const Allocation& a) { return Add(a, &seen_->malloc_blocks); }

 private:
  std::optional<int> Add(const Allocation& a, std::vector<std::string>* to) {
    std::string names;
    ManagedFunctionName name;
    for (const uintptr_t frame : a.callstack) {
      if (FindManagedFunction(frame, &name)) names += std::string(name.name) + " ";
    }
    std::lock_guard<std::mutex> hold(seen_->mutex);
    to->push_back(names);
    seen_->depths.push_back(a.callstack.size());
    return std::nullopt;
  }
  Seen* seen_;
};

class ManagedCallsTest : public ::testing::Test {
 protected:
  void TearDown() override { Tracker::stop().IgnoreError(); }
  void Start(uint32_t callstack_size = 256) {
    StartOptions options;
    options.callstack_size = callstack_size;
    ASSERT_TRUE(Tracker::start(1, NameTracker(&seen_), options).ok());
  }

  std::unique_ptr<Heap> heap_ = Heap::Create().value();
  Mutator mutator_{*heap_};
  Seen seen_;
};

TEST_F(ManagedCallsTest, ManagedAndMallocBlocksCarryTheInterpretedFunctions) {
  const ManagedCall main(kMain);
  Start();
  for (const bool managed : {true, false, true, false}) Apply(kEven, 2, managed);
  const std::vector<std::string> expected(2, "even odd even main ");
  EXPECT_EQ(seen_.managed_blocks, expected);
  EXPECT_EQ(seen_.malloc_blocks, expected);
}

// Only the managed frames differ between two samples.  The native stack is the same.
TEST_F(ManagedCallsTest, ChangedFunctionIsNotTakenForAnUnchangedStack) {
  Start();
  for (int i = 0; i < 6; ++i) Apply(i % 2 == 0 ? kEven : kOdd, 0, true);
  EXPECT_EQ(seen_.managed_blocks,
            (std::vector<std::string>{"even ", "odd ", "even ", "odd ", "even ", "odd "}));
}

TEST_F(ManagedCallsTest, CutStackKeepsTheInnermost) {
  for (const uint32_t size : {0, 1, 2, 3, 4, 7}) {
    seen_.depths.clear();
    Start(size);
    Apply(kEven, 20, true);
    ASSERT_TRUE(Tracker::stop().ok());
    EXPECT_EQ(seen_.depths, std::vector<size_t>{size});
  }
  // The native stack is Allocate, even, Apply, odd, Apply, even, Apply.
  EXPECT_EQ(seen_.managed_blocks.back(), "even odd even ");
}

TEST_F(ManagedCallsTest, DeepRecursionIsCutAtTheLimit) {
  Start(1024);
  Apply(kEven, 5000, true);
  EXPECT_EQ(seen_.depths, std::vector<size_t>{1024});
}

TEST_F(ManagedCallsTest, ThreadsHaveTheirOwn) {
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([this, t] {
      const Mutator inner(*heap_);
      for (int i = 0; i < 500; ++i) Apply(t == 0 ? kEven : kOdd, 1, true);
    });
  }
  {
    const NativeRegion native;
    for (std::thread& thread : threads) thread.join();
  }
  size_t counts[2] = {};
  for (const std::string& names : seen_.managed_blocks) {
    counts[0] += names == "odd even ";
    counts[1] += names == "even odd ";
  }
  EXPECT_EQ(counts[0], 500u);
  EXPECT_EQ(counts[1], 500u);
}

std::jmp_buf g_jump;

__attribute__((noinline)) void ThrowFrom(int depth) {
  const ManagedCall call(kOdd);
  make<Cell>(depth, nullptr);
  if (depth > 0) ThrowFrom(depth - 1);
  if (depth == 0) longjmp(g_jump, 1);  // NOLINT: longjmp is tested here
}

TEST_F(ManagedCallsTest, MarkThatIsCutBackToEndsCalls) {
  const ManagedCall main(kMain);
  const ManagedCallMark mark;
  if (setjmp(g_jump) == 0) ThrowFrom(20);  // NOLINT
  mark.CutBack();
  Start();
  Apply(kEven, 0, true);
  EXPECT_EQ(seen_.managed_blocks, std::vector<std::string>{"even main "});
}

// mlmon.out charges the innermost interpreted function, not the interpreter's function.
TEST_F(ManagedCallsTest, ProfileChargesInterpretedFunctions) {
  const ProfileData data = Profile::Malloc().value();
  {
    const ScopedProfileData unit(data);
    ASSERT_TRUE(Profile::Start().ok());
    Apply(kEven, 0, true);
    Apply(kEven, 1, false);
    ASSERT_TRUE(Profile::Stop().ok());
  }
  EXPECT_EQ(testing::CurrentOf("even", data), 24);  // with its header
  EXPECT_EQ(testing::CurrentOf("odd", data), 100);
  EXPECT_TRUE(Profile::Free(data).ok());
}

}  // namespace
}  // namespace allomon::gc
