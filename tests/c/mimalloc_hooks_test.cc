// The adapter for mimalloc's profiling hooks, over a stand-in: the types of its header, and
// a heap that calls the hooks by the rules of mimalloc 3.5, with a countdown that is exact.  It
// holds the adapter's arithmetic; whether mimalloc keeps to its rules is not tested here.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define MI_MALLOC_VERSION 30500
#define MI_PROFILE_SAMPLE_DATA_MAX_SIZE 1024
struct mi_heap_t {};
struct mi_profiler_t;
struct mi_profiler_sample_data_t {
  size_t user_data_size;
  void* user_data[1];
};
using mi_profiler_on_alloc_fun = size_t(mi_profiler_t*, mi_profiler_sample_data_t*, void*, size_t,
                                        size_t, uint64_t, const mi_heap_t*);
using mi_profiler_on_free_fun = void(mi_profiler_t*, mi_profiler_sample_data_t*, void*,
                                     const mi_heap_t*);
struct mi_profiler_t {
  void* reserved;
  size_t sample_data_size;
  size_t initial_sample_rate;
  mi_profiler_on_alloc_fun* on_alloc;
  mi_profiler_on_free_fun* on_free;
};
bool mi_profile(mi_profiler_t* profiler);
bool mi_profiler_start(mi_profiler_t* profiler);
bool mi_profiler_stop(mi_profiler_t* profiler);

#include <allomon/allomon.h>
#include <allomon/mimalloc_hooks.h>

#include "gtest/gtest.h"
#include "tests/support/statistics.h"

namespace {
mi_profiler_t* g_profiler = nullptr;
bool g_runs = false;
bool g_is_prompt = false;  // a longer gap begins at once
const mi_heap_t kHeap;

// A block of the stand-in's; `data` has room for the words of `sample_data_size`.
struct Block {
  size_t size_bytes;
  mi_profiler_sample_data_t* data;
};

struct ThreadHeap {
  size_t rate_bytes = 0;
  size_t countdown_bytes = 0;
};

mi_profiler_sample_data_t* CallHook(ThreadHeap& heap, size_t size_bytes) {
  const size_t room_bytes = sizeof(mi_profiler_sample_data_t) + g_profiler->sample_data_size;
  auto* const data = static_cast<mi_profiler_sample_data_t*>(malloc(room_bytes));
  data->user_data_size = g_profiler->sample_data_size;
  const uint64_t passed = heap.rate_bytes + (size_bytes - heap.countdown_bytes);
  heap.countdown_bytes = heap.rate_bytes;
  const size_t rate =
      g_profiler->on_alloc(g_profiler, data, data, size_bytes, heap.rate_bytes, passed, &kHeap);
  if (rate != 0) heap.rate_bytes = rate;
  // A longer gap begins a call late.
  if (g_is_prompt || heap.countdown_bytes > heap.rate_bytes) heap.countdown_bytes = heap.rate_bytes;
  return data;
}

Block Allocate(ThreadHeap& heap, size_t size_bytes) {
  if (!g_runs) return {size_bytes, nullptr};
  if (heap.rate_bytes == 0) {
    heap.rate_bytes = heap.countdown_bytes = g_profiler->initial_sample_rate;
  }
  if (size_bytes > heap.countdown_bytes) return {size_bytes, CallHook(heap, size_bytes)};
  heap.countdown_bytes -= size_bytes;
  return {size_bytes, nullptr};
}

void Free(const Block& block) {
  if (block.data == nullptr) return;
  g_profiler->on_free(g_profiler, block.data, block.data, &kHeap);
  free(block.data);
}

void FreeAll(std::vector<Block>* blocks) {
  for (const Block& block : *blocks) Free(block);
  blocks->clear();
}

// What a tracker estimates by size, and which labels it has seen.
struct Seen {
  std::map<uint64_t, double> bytes;
  int64_t allocs = 0, deallocs = 0, labelled = 0;
};

class MimallocHooks : public ::testing::Test {
 protected:
  static constexpr double kRate = 1e-3;

  void SetUp() override {
    g_profiler = nullptr;
    g_runs = false;
    g_is_prompt = false;
  }

  void Start(double rate = kRate) {
    ASSERT_EQ(allomon_mimalloc_attach(&hooks_), ALLOMON_OK);
    allomon_callbacks callbacks = ALLOMON_CALLBACKS_DEFAULTS;
    callbacks.user = &seen_;
    callbacks.alloc_major = [](void* user, const allomon_allocation* block, allomon_value*) {
      Seen& seen = *static_cast<Seen*>(user);
      allomon_estimate blocks, bytes;
      allomon_allocation_estimate(block, &blocks, &bytes);
      seen.bytes[block->size_bytes] += bytes.value;
      ++seen.allocs;
      const char* const text = allomon_labels_text(block->labels, nullptr);
      if (std::string(text) == "tenant" && std::string(text + 7) == "a") ++seen.labelled;
      return int32_t{1};
    };
    callbacks.dealloc_major = [](void* user, allomon_value*) {
      ++static_cast<Seen*>(user)->deallocs;
    };
    allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
    options.rate = rate;
    options.seed = 11;
    options.has_seed = 1;
    ASSERT_EQ(allomon_tracker_start(&options, &callbacks, &tracker_), ALLOMON_OK);
  }

  void TearDown() override {
    if (tracker_ != 0) {
      EXPECT_EQ(allomon_tracker_stop(tracker_, ALLOMON_DISCARD), ALLOMON_OK);
    }
    allomon_mimalloc_detach(&hooks_);
  }

  // The truth lies within the two stages' own deviation of the estimate.
  void ExpectBytes(size_t size_bytes, double truth) {
    const double size = size_bytes;
    const double chance = -std::expm1(-size / hooks_.gap_bytes);
    const bool is_exact = size_bytes >= hooks_.gap_bytes * 16;
    const double first_stage = is_exact ? 0 : size * (1 / chance - 1);
    const double deviation = std::sqrt(truth * (first_stage + 8 / kRate));
    EXPECT_NEAR(seen_.bytes[size_bytes], truth, allomon::testing::kSigmas * deviation)
        << size_bytes << " bytes each";
    RecordProperty(std::to_string(size_bytes), std::to_string(seen_.bytes[size_bytes] / truth));
  }

  allomon_mimalloc_hooks hooks_ = ALLOMON_MIMALLOC_HOOKS_DEFAULTS;
  allomon_tracker tracker_ = 0;
  Seen seen_;
  ThreadHeap heap_;
};

}  // namespace

bool mi_profile(mi_profiler_t* profiler) {
  if (g_profiler != nullptr && g_profiler != profiler) return false;
  g_profiler = profiler;
  return true;
}

bool mi_profiler_start(mi_profiler_t* profiler) {
  return std::exchange(g_runs, profiler != nullptr);
}

bool mi_profiler_stop(mi_profiler_t*) { return std::exchange(g_runs, false); }

namespace {

// Equal bytes of each size, in random order.
TEST_F(MimallocHooks, EachSizeGetsItsShare) {
  Start();
  const std::vector<size_t> sizes = {16, 100, 1000, 4096, 6000, 20000, 70000, 400000};
  const double each = 64e6;
  double all = 0;
  for (const size_t size : sizes) all += each / size;
  std::map<size_t, double> truth;
  uint64_t state = 7;
  for (double i = 0; i < all; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double place = static_cast<double>(state >> 11) * 0x1p-53 * all;
    size_t chosen = 0;
    while (chosen + 1 < sizes.size() && place >= each / sizes[chosen]) {
      place -= each / sizes[chosen++];
    }
    truth[sizes[chosen]] += sizes[chosen];
    Free(Allocate(heap_, sizes[chosen]));
  }
  for (const size_t size : sizes) ExpectBytes(size, truth[size]);
  EXPECT_EQ(hooks_.crowded, 0u);
  EXPECT_EQ(hooks_.surprises, 0u);
  EXPECT_EQ(seen_.allocs, seen_.deallocs);
}

// mimalloc's own weight charges nearly all of it to the large block, which notices the countdown.
TEST_F(MimallocHooks, SmallBlocksBetweenLargeOnesAreNotChargedToThem) {
  Start();
  for (int i = 0; i < 20000; ++i) {
    for (int j = 0; j < 4; ++j) Free(Allocate(heap_, 64));
    Free(Allocate(heap_, 5000));
    Free(Allocate(heap_, 100000));
  }
  ExpectBytes(64, 20000.0 * 4 * 64);
  ExpectBytes(5000, 20000.0 * 5000);
  ExpectBytes(100000, 20000.0 * 100000);
}

TEST_F(MimallocHooks, LiveBlocksAreLiveUntilTheyAreFreed) {
  Start();
  std::vector<Block> kept;
  for (int i = 0; i < 300000; ++i) {
    const Block block = Allocate(heap_, 256);
    if (i % 4 == 0) kept.push_back(block);
    if (i % 4 != 0) Free(block);
  }
  const double live = static_cast<double>(seen_.allocs - seen_.deallocs);
  EXPECT_NEAR(live / seen_.allocs, 0.25, 0.05);
  FreeAll(&kept);
  EXPECT_GT(seen_.allocs, 1000);
  EXPECT_EQ(seen_.allocs, seen_.deallocs);
}

TEST_F(MimallocHooks, BlocksHaveTheLabelsOfTheirThread) {
  Start();
  std::thread([this] {
    ThreadHeap heap;
    allomon_label_scope scope;
    allomon_label_push(&scope, "tenant", "a");
    for (int i = 0; i < 100000; ++i) Free(Allocate(heap, 200));
    allomon_label_pop(&scope);
  }).join();
  EXPECT_GT(seen_.labelled, 100);
  EXPECT_EQ(seen_.labelled, seen_.allocs);
}

// At rate 1 each part of a hit block is hit: the block keeps eight.
TEST_F(MimallocHooks, PartsWithoutRoomCountAsFreed) {
  Start(1);
  std::vector<Block> kept;
  for (int i = 0; i < 10000; ++i) kept.push_back(Allocate(heap_, 64));
  EXPECT_GT(hooks_.crowded, 0u);
  EXPECT_EQ(seen_.deallocs, static_cast<int64_t>(hooks_.crowded));
  EXPECT_EQ(hooks_.surprises, 0u);
  FreeAll(&kept);
  EXPECT_EQ(seen_.allocs, seen_.deallocs);
}

// A mimalloc in which each number takes effect at once: what cannot be trusted says so.
TEST_F(MimallocHooks, OtherRulesAreNoticed) {
  Start();
  g_is_prompt = true;
  for (int i = 0; i < 10000; ++i) Free(Allocate(heap_, 200));
  EXPECT_GT(hooks_.surprises, 0u);
}

TEST_F(MimallocHooks, RefusesWhatItCannotServe) {
  EXPECT_EQ(allomon_mimalloc_attach(nullptr), ALLOMON_INVALID_ARGUMENT);
  hooks_.gap_bytes = 63;
  EXPECT_EQ(allomon_mimalloc_attach(&hooks_), ALLOMON_INVALID_ARGUMENT);
  hooks_.gap_bytes = (1 << 20) + 1;
  EXPECT_EQ(allomon_mimalloc_attach(&hooks_), ALLOMON_INVALID_ARGUMENT);
  hooks_.gap_bytes = 4096;
  mi_profiler_t other = {};
  ASSERT_TRUE(mi_profile(&other));
  EXPECT_EQ(allomon_mimalloc_attach(&hooks_), ALLOMON_ALREADY_STARTED);
  EXPECT_FALSE(g_runs);
}

}  // namespace
