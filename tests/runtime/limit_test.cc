// Options, the heap limit, and misuse that every build catches.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/heap_core.h"
#include "tests/support/sanitizers.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

TEST(OptionsTest, TextIsRead) {
  HeapOptions options;
  ASSERT_TRUE(
      options
          .Parse(
              "nursery=4M,growth=80,floor=512K,limit=1G,soft_limit=800M,cgroup=70,verify,stress=3")
          .ok());
  EXPECT_EQ(options.nursery_bytes, 4u << 20);
  EXPECT_EQ(options.growth_percent, 80u);
  EXPECT_EQ(options.growth_floor_bytes, 512u << 10);
  EXPECT_EQ(options.limit_bytes, 1u << 30);
  EXPECT_EQ(options.soft_limit_bytes, 800u << 20);
  EXPECT_EQ(options.cgroup_percent, 70u);
  EXPECT_TRUE(options.verify);
  EXPECT_EQ(options.stress_every, 3u);
}

TEST(OptionsTest, BadTextIsNamedAndChangesNothing) {
  for (const char* text : {"nursery=", "nursery=x", "nursery=4MM", "nursery=4T", "nurse=4M",
                           "growth=5000000000", "nursery=4M,,limit=1", "limit=99999999999999999999",
                           "limit=-1", "limit=18446744073709551615K", "stress=4294967296",
                           "verify=yes", "mark_stack=1.5", "=3", "nursery 4M"}) {
    HeapOptions options;
    const absl::Status status = options.Parse(text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    // The message names the invalid word.  In the text of several words it is the empty one between
    // the commas.
    const std::string word = text == std::string("nursery=4M,,limit=1") ? "" : text;
    EXPECT_NE(status.message().find("heap option '" + word + "'"), std::string::npos) << status;
    EXPECT_EQ(options.nursery_bytes, HeapOptions().nursery_bytes);
  }
}

TEST(OptionsTest, BlanksAroundWordsDoNotMatter) {
  HeapOptions options;
  ASSERT_TRUE(options.Parse("  nursery = 4M,\tgrowth= 80 , verify ").ok());
  EXPECT_EQ(options.nursery_bytes, 4u << 20);
  EXPECT_EQ(options.growth_percent, 80u);
  EXPECT_TRUE(options.verify);
  EXPECT_TRUE(options.Parse("  ").ok());
}

TEST(OptionsTest, LimitTooSmallForAnyThreadIsRefused) {
  for (const char* text : {"limit=1", "limit=1K", "limit=2047K"}) {
    HeapOptions options;
    ASSERT_TRUE(options.Parse(text).ok());
    const absl::Status status = Heap::Create(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("'limit': must be 0 (none) or at least 2M"), std::string::npos)
        << status;
  }
}

TEST(OptionsTest, ImpossibleValuesAreRefused) {
  HeapOptions options;
  options.nursery_bytes = 100;
  EXPECT_FALSE(Heap::Create(options).ok());
  options = HeapOptions();
  options.growth_percent = 0;
  EXPECT_FALSE(Heap::Create(options).ok());
  options = HeapOptions();
  options.growth_percent = 10001;
  EXPECT_FALSE(Heap::Create(options).ok());
  options = HeapOptions();
  options.nursery_bytes = size_t{2} << 30;
  EXPECT_FALSE(Heap::Create(options).ok());
  options = HeapOptions();
  options.mark_stack_entries = 15;
  EXPECT_NE(Heap::Create(options).status().message().find("mark_stack"), std::string::npos);
}

TEST(OptionsTest, BadEnvironmentIsAnErrorOfCreate) {
  setenv("ALLOMON_HEAP", "nursery=64K,growht=80", 1);
  const absl::Status status = Heap::Create().status();
  unsetenv("ALLOMON_HEAP");
  EXPECT_NE(status.message().find("'growht=80'"), std::string::npos) << status;
  EXPECT_EQ(status.message().find("ALLOMON_HEAP=nursery=64K,growht=80: "), 0u) << status;
}

HeapOptions Limited(size_t limit_bytes) {
  HeapOptions options;
  options.nursery_bytes = 256 << 10;
  options.growth_floor_bytes = 1 << 20;
  options.limit_bytes = limit_bytes;
  options.verify = true;
  return options;
}

TEST(LimitTest, HeapStaysUsableAtItsLimit) {
  const auto heap = Heap::Create(Limited(3 << 20)).value();
  const Mutator mutator(*heap);
  for (int round = 0; round < 2; ++round) {
    heap->CollectFromTop(
        CollectionKind::kMajor);  // the stack may still refer to the last round's list
    Root<Cell> list;
    long length = 0;
    EXPECT_THROW(for (;; ++length) list = make<Cell>(length, list), std::bad_alloc);
    EXPECT_GT(length, 30000);
    EXPECT_LE(heap->statistics().old_space_bytes, 3u << 20);
    // The objects that were made are whole.
    long seen = 0;
    for (Local<Cell> cell = list; cell; cell = cell->tail) ASSERT_EQ(cell->head, length - ++seen);
    EXPECT_EQ(seen, length);
  }
}

TEST(LimitTest, SizesThatNeverFitAreRefusedWithoutACollection) {
  int asked = 0;
  HeapOptions options = Limited(9 << 20);
  options.on_out_of_memory = [&asked](size_t) { return ++asked < 10; };
  for (const bool limited : {false, true}) {
    const auto heap = Heap::Create(limited ? options : HeapOptions()).value();
    const Mutator mutator(*heap);
    EXPECT_THROW(make_bytes(limited ? 10 << 20 : size_t{1} << 50), std::bad_alloc);
    EXPECT_THROW(make_array<Cell>(size_t{1} << 56), std::bad_alloc);
    EXPECT_EQ(heap->statistics().minor_collections + heap->statistics().major_collections, 0u);
  }
  EXPECT_EQ(asked, 0);
}

// The limit leaves room for a chunk and two of the last objects: a word of the stack may keep the
// previous one alive.
TEST(LimitTest, LargeObjectsRespectTheLimit) {
  const auto heap = Heap::Create(Limited(9 << 20)).value();
  const Mutator mutator(*heap);
  EXPECT_THROW(make_bytes(16 << 20), std::bad_alloc);
  EXPECT_THROW(make_bytes(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(make_array<Cell>(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(make_array<Cell>(SIZE_MAX / 8), std::bad_alloc);
  // Garbage does not count against the limit.
  for (int i = 0; i < 100; ++i) make_bytes(3 << 20);
}

TEST(LimitTest, HandlerMayDropReferences) {
  HeapOptions options = Limited(8 << 20);
  std::vector<Local<Bytes>>* cache = nullptr;
  int calls = 0;
  options.on_out_of_memory = [&](size_t) {
    ++calls;
    const bool had_some = !cache->empty();
    std::vector<Local<Bytes>>().swap(*cache);  // with its memory, which is a root
    return had_some;
  };
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  std::vector<Local<Bytes>> blocks;
  cache = &blocks;
  for (int i = 0; i < 100; ++i) {
    Root<Bytes> block = make_bytes(1 << 20);
    blocks.push_back(block);
  }
  EXPECT_GT(calls, 5);
}

TEST(LimitTest, SmallestLimitTakesAThreadWithALargerNursery) {
  HeapOptions options = Limited(2 << 20);
  options.nursery_bytes = 8 << 20;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  for (long i = 0; i < 100000; ++i) make<Cell>(i, nullptr);
}

TEST(LimitTest, LimitThatAnotherThreadHasUsedUpIsAnErrorOfAttach) {
  const auto heap = Heap::Create(Limited(2 << 20)).value();
  const Mutator mutator(*heap);
  Root<Cell> list;
  EXPECT_THROW(for (long i = 0;; ++i) list = make<Cell>(i, list), std::bad_alloc);
  const NativeRegion waiting;  // otherwise the other thread would wait for this one
  std::thread([&heap] { EXPECT_THROW(const Mutator late(*heap), std::bad_alloc); }).join();
}

// A block of 32 KiB holds three objects of nearly 8 KiB.  All objects of the first thread must fit
// when both nurseries are emptied.
TEST(LimitTest, ThreadThatAttachesNearTheLimitLeavesRoomForWhatOthersHold) {
  HeapOptions options = Limited(2 << 20);
  options.nursery_bytes = 1 << 20;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  std::vector<Local<Bytes>> kept;
  for (int i = 0; i < 120; ++i) kept.push_back(make_bytes(8184));
  ASSERT_EQ(heap->statistics().minor_collections, 0u);
  std::thread other([&heap] {
    const Mutator second(*heap);
    std::vector<Local<Bytes>> more;
    EXPECT_THROW(for (;;) more.push_back(make_bytes(8184)), std::bad_alloc);
  });
  {
    const NativeRegion waiting;
    other.join();
  }
  for (const Local<Bytes>& bytes : kept) EXPECT_EQ(bytes->length(), 8184u);
}

void WriteText(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// Returns the most bytes that the old space had: 24 MB stay, and six times as many live for
// a while.  The process is in a cgroup of which so many percent are used.
uint64_t PeakBytes(size_t soft_limit_bytes, int used_percent = 0, uint32_t cgroup_percent = 90) {
  const std::string root = ::testing::TempDir() + "/limit_test." + std::to_string(getpid());
  WriteText(root + "/proc/self/cgroup", "0::/pod\n");
  WriteText(root + "/sys/fs/cgroup/pod/memory.max", "max\n");
  WriteText(root + "/sys/fs/cgroup/pod/memory.high", "100000\n");
  WriteText(root + "/sys/fs/cgroup/pod/memory.current", std::to_string(used_percent * 1000) + "\n");
  HeapOptions options;
  options.growth_percent = 400;
  options.soft_limit_bytes = soft_limit_bytes;
  options.cgroup_percent = cgroup_percent;
  options.incremental_from_bytes = size_t{1} << 40;
  const auto heap = Heap::Create(options).value();
  using allomon::internal::MemoryLimit;
  heap->core().memory_limit = MemoryLimit(MemoryLimit::Bound::kSlows, root.c_str());
  const Mutator mutator(*heap);
  Root<Cell> stays;
  Root<Cell> passes;
  for (long i = 0; i < 1'000'000; ++i) stays = make<Cell>(i, stays);
  for (long i = 0; i < 6'000'000; ++i) {
    if (i % 100'000 == 0) passes = nullptr;
    passes = make<Cell>(i, passes);
  }
  long seen = 0;
  for (Local<Cell> cell = stays; cell; cell = cell->tail) ++seen;
  EXPECT_EQ(seen, 1'000'000);
  return heap->statistics().peak_old_space_bytes;
}

TEST(LimitTest, HeapWithASoftLimitCollectsEarlier) {
  if (testing::kHasThreadSanitizer) GTEST_SKIP() << "one thread";
  constexpr size_t kMiB = 1 << 20;
  EXPECT_GT(PeakBytes(0), 80 * kMiB);
  EXPECT_LT(PeakBytes(36 * kMiB), 48 * kMiB);  // the reserve is 4 MiB, and chunks are whole
  // Less than what lives.
  EXPECT_LT(PeakBytes(kMiB), 40 * kMiB);
}

TEST(LimitTest, HeapInAFullCgroupCollectsEarlier) {
  if (testing::kHasThreadSanitizer) GTEST_SKIP() << "one thread";
  constexpr size_t kMiB = 1 << 20;
  EXPECT_GT(PeakBytes(0, 89), 80 * kMiB);
  EXPECT_LT(PeakBytes(0, 91), 40 * kMiB);
}

constexpr size_t kLiveBytes = size_t{20} << 20;

// Returns the most that the old space had while strings of `bytes` with their headers, of
// kLiveBytes and their table, were each replaced seven times at random.
size_t PeakOfReplacedStrings(const HeapOptions& options, size_t bytes) {
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  const size_t count = kLiveBytes / bytes;
  Root<Array<Bytes>> live = make_array<Bytes>(count);
  uint64_t random = 1;
  for (size_t i = 0; i < 8 * count; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t at = i < count ? i : (random >> 33) % count;
    live->at(at) = make_bytes(std::string(bytes - 16, static_cast<char>('a' + at % 26)));
  }
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view text = live->at(i)->view();
    wrong += text != std::string(bytes - 16, static_cast<char>('a' + i % 26));
  }
  EXPECT_EQ(wrong, 0u) << bytes;
  return heap->statistics().peak_old_space_bytes;
}

// Strings replaced at random use the gaps that others have left.  Twice what lives is the option
// `growth`; the rest are the reserve of 4 MiB, whole chunks, and gaps that were too small.
TEST(LimitTest, OldSpaceDoesNotRot) {
  if (testing::kHasThreadSanitizer) GTEST_SKIP() << "one thread";
  HeapOptions at_once;
  at_once.incremental_from_bytes = size_t{1} << 40;
  for (const size_t bytes : {40, 48, 200, 500, 1000, 4000}) {
    const size_t live_bytes = kLiveBytes + kLiveBytes / bytes * sizeof(void*);
    EXPECT_LT(PeakOfReplacedStrings(at_once, bytes), live_bytes / 2 * 5) << bytes;
  }
}

// Slices of a marking take longer under a sanitizer, and more dies unseen meanwhile.
TEST(LimitTest, OldSpaceDoesNotRotBesideSlices) {
  for (const size_t bytes : {200, 500, 1000, 4000}) {
    const size_t halves = testing::kHasSanitizer ? 10 : 7;
    EXPECT_LT(PeakOfReplacedStrings({}, bytes), kLiveBytes / 2 * halves) << bytes;
  }
}

// The pages that the process has, in bytes.
size_t ResidentBytes() {
  size_t total = 0;
  size_t resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  EXPECT_EQ(fscanf(file, "%zu %zu", &total, &resident), 2);
  fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class DroppedMemoryTest : public ::testing::TestWithParam<const char*> {};

TEST_P(DroppedMemoryTest, GoesBackByOneCollection) {
  constexpr size_t kMiB = 1 << 20;
  HeapOptions options;
  ASSERT_TRUE(options.Parse(GetParam()).ok());
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  for (int round = 0; round < 3; ++round) {
    const size_t before = ResidentBytes();
    Root<Cell> list;
    for (long i = 0; i < 4'000'000; ++i) list = make<Cell>(i, list);
    Root<Array<Bytes>> large = make_array<Bytes>(3000);
    for (size_t i = 0; i < 3000; ++i) large->at(i) = make_bytes(std::string(30'000, 'x'));
    EXPECT_GT(heap->statistics().old_space_bytes, 150 * kMiB);
    // A sanitizer's own memory may go back meanwhile: 53 MiB less were seen.
    if (!testing::kHasSanitizer) {
      EXPECT_GT(ResidentBytes(), before + 150 * kMiB);
    }
    list = nullptr;
    large = nullptr;
    heap->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(heap->statistics().old_words, 0u);
    EXPECT_LT(heap->statistics().old_space_bytes, 9 * kMiB);
    // A sanitizer keeps its shadow of memory that was dropped, and freed blocks.
    if (testing::kHasSanitizer) continue;
    EXPECT_LT(ResidentBytes(), before + 40 * kMiB) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(InSlicesAndAtOnce, DroppedMemoryTest,
                         ::testing::Values("incremental=1G", "incremental=0,background=0",
                                           "incremental=0"));

TEST(LimitTest, MarkStackOverflow) {
  HeapOptions options = Limited(0);
  options.mark_stack_entries = 16;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  Root<Array<Array<Cell>>> table = make_array<Array<Cell>>(3000);
  for (size_t i = 0; i < 3000; ++i) {
    table->at(i) = make_array<Cell>(5);
    for (size_t j = 0; j < 5; ++j) table->at(i)->at(j) = make<Cell>(1, make<Cell>(2, nullptr));
  }
  heap->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap->statistics().old_words, 3002u + 3000 * (7 + 5 * 6));
}

using OneCell = ValueStack<Cell, 1>;

TEST(MisuseDeathTest, IsNamed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(make<Cell>(1, nullptr), "rule.attached");
  EXPECT_DEATH(make_array<Cell>(3), "rule.attached");
  EXPECT_DEATH(make_bytes("text"), "rule.attached");
  EXPECT_DEATH(Root<Cell>(), "rule.attached");
  EXPECT_DEATH(Safepoint(), "rule.attached");
  EXPECT_DEATH(NativeRegion(), "rule.attached");
  EXPECT_DEATH(NoAllocation(), "rule.attached");
  const auto heap = Heap::Create(Limited(0)).value();
  EXPECT_DEATH(
      {
        const Mutator one(*heap);
        const Mutator two(*heap);
      },
      "rule.attached");
  EXPECT_DEATH(
      {
        auto mutator = std::make_unique<Mutator>(*heap);
        const Root<Cell> local;
        mutator.reset();
      },
      "rule.detach");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        const NoAllocation scope;
        make<Cell>(1, nullptr);
      },
      "rule.no_allocation");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        make_array<Cell>(5)->at(5);
      },
      "rule.bounds");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        // The first array makes room in the nursery, so that the next one would take the fast path.
        make_array<Cell>(5);
        const NativeRegion native;
        make_array<Cell>(5);
      },
      "rule.native");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        const NativeRegion native;
        const NativeRegion again;
      },
      "rule.native");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        const NativeRegion native;
        const NoAllocation scope;
      },
      "rule.native");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        const NoAllocation scope;
        Heap::Create(Limited(0)).value();
      },
      "rule.no_allocation");
  EXPECT_DEATH(
      {
        auto short_lived = Heap::Create(Limited(0)).value();
        const Mutator mutator(*short_lived);
        short_lived.reset();
      },
      "rule.detach: a heap is destroyed with threads attached");
  EXPECT_DEATH(
      {
        auto short_lived = Heap::Create(Limited(0)).value();
        auto mutator = std::make_unique<Mutator>(*short_lived);
        const Global<Cell> global(make<Cell>(1, nullptr));
        mutator.reset();
        short_lived.reset();
      },
      "rule.global");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        add_finalizer<Cell>(nullptr, [](Handle<Cell>) {});
      },
      "rule.finalizer");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        OneCell stack;
        stack.Push(nullptr);
        stack.Drop(2);
      },
      "rule.value_stack");
}

// So many bytes require a collection.  In a native region the collection would wait for this
// thread, which already stands.  In a NoAllocation scope it would run concurrently with a thread
// that does not stand.
TEST(MisuseDeathTest, CustomBlockInANativeRegionIsNamed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto heap = Heap::Create(Limited(0)).value();
  const auto release = [](void*) {};
  EXPECT_DEATH(
      {
        alarm(20);  // the test fails instead of hanging
        const Mutator mutator(*heap);
        const NativeRegion native;
        make_custom(nullptr, uint64_t{1} << 30, release);
      },
      "rule.native");
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        const NoAllocation scope;
        make_custom(nullptr, uint64_t{1} << 30, release);
      },
      "rule.no_allocation");
}

// Another thread destroys the Root.
TEST(MisuseDeathTest, RootOnAnotherThreadIsNamed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto heap = Heap::Create(Limited(0)).value();
  EXPECT_DEATH(
      {
        const Mutator mutator(*heap);
        auto local = std::make_unique<Root<Cell>>(make<Cell>(1, nullptr));
        std::thread other([&heap, &local] {
          const Mutator inner(*heap);
          const Root<Cell> own;
          local.reset();
        });
        const NativeRegion native;
        other.join();
      },
      "rule.root.thread");
}

}  // namespace
}  // namespace allomon::gc
