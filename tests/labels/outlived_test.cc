// Which live blocks outlived their scopes, in a recording of each block: by scope, by label, on
// other threads, through nesting, reuse of values, longjmp, and a second recording.
#include <array>
#include <atomic>
#include <csetjmp>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allomon/labels.h"
#include "runtime/heap.h"
#include "tests/recording/recorded.h"
#include "tools/heap/born.h"
#include "tools/heap/labels.h"
#include "tools/load/recording/recording_profile.h"
#include "tracker/formats/recording.h"

namespace allomon {
namespace {

using heap::HeapProfile;
using heap::Metric;
using testing::EveryBlock;
using testing::Recorded;

using ByValue = std::map<std::string, double>;

HeapProfile ProfileOf(const std::string& path) {
  recording::RecordingOptions options;
  options.names = false;
  auto profiles = recording::ReadRecordingProfiles(path, options);
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  return profiles.ok() ? std::move(profiles->front()) : HeapProfile();
}

// Live bytes that outlived scopes of `key`, by its value; of all labels with an empty key.
ByValue OutlivedBy(const std::string& path, const std::string& key) {
  HeapProfile profile = ProfileOf(path);
  EXPECT_EQ(heap::KeepOutlived({true, key}, &profile), "");
  ByValue outlived;
  for (const heap::Sample& sample : profile.samples) {
    const std::string value(key.empty() ? "" : heap::LabelValue(sample, key));
    outlived[value] += sample[Metric::kLive].bytes;
  }
  return outlived;
}

// Blocks that are freed at its end.
class Kept {
 public:
  ~Kept() { Free(); }
  void Add(size_t bytes) { blocks_.push_back(SamplingMalloc(bytes)); }
  void Free() {
    for (void* const block : blocks_) SamplingFree(block);
    blocks_.clear();
  }

 private:
  std::vector<void*> blocks_;
};

TEST(OutlivedTest, WhatIsLiveAfterTheScope) {
  const Recorded recorded(EveryBlock("outlived"));
  Kept kept, cache;
  cache.Add(10);
  {
    const ScopedLabel request("request", "1", kEnds);
    kept.Add(1000);
    SamplingFree(SamplingMalloc(3000));
    EXPECT_EQ(OutlivedBy(recorded.path(), "request"), ByValue());
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"1", 1000}}));
  EXPECT_EQ(OutlivedBy(recorded.path(), ""), (ByValue{{"", 1000}}));
  HeapProfile profile = ProfileOf(recorded.path());
  EXPECT_EQ(heap::KeepOutlived({true, "tenant"}, &profile), "");
  ASSERT_EQ(profile.notes.size(), 2u);
  EXPECT_EQ(profile.notes[0], "no block has the label \"tenant\"; there is request");
  EXPECT_EQ(profile.notes[1],
            "only what is live of the label tenant whose scope has ended: nothing");
  cache.Add(20);
  kept.Free();
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), ByValue());
}

TEST(OutlivedTest, WithoutEndsNothingIsTold) {
  const Recorded recorded(EveryBlock("no ends"));
  Kept kept;
  {
    const ScopedLabel request("request", "1");
    kept.Add(1000);
  }
  HeapProfile profile = ProfileOf(recorded.path());
  EXPECT_NE(heap::KeepOutlived({true, ""}, &profile), "");
}

// Scopes of one value have blocks of their own, also while another thread is in one.
TEST(OutlivedTest, EachScopeOfAValueHasItsOwnEnd) {
  const Recorded recorded(EveryBlock("values again"));
  Kept kept;
  const auto serve = [&kept](size_t bytes) {
    const ScopedLabel request("request", "GET", kEnds);
    kept.Add(bytes);
  };
  const ScopedLabel open("request", "GET", kEnds);
  kept.Add(1);
  std::thread([&] {
    serve(10);
    serve(100);
    const ScopedLabel of_the_thread("request", "GET", kEnds);
    kept.Add(1000);
    EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"GET", 110}}));
  }).join();
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"GET", 1110}}));
}

TEST(OutlivedTest, NestedScopesCountByTheirKeys) {
  const Recorded recorded(EveryBlock("nested"));
  Kept kept;
  {
    const ScopedLabel session("session", "s", kEnds);
    kept.Add(1);
    {
      const ScopedLabel phase("phase", "no end");
      const ScopedLabel request("request", "r", kEnds);
      const ScopedLabel step("step", "no end");
      kept.Add(10);
    }
    EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"r", 10}}));
    EXPECT_EQ(OutlivedBy(recorded.path(), "session"), ByValue());
    EXPECT_EQ(OutlivedBy(recorded.path(), ""), (ByValue{{"", 10}}));
    kept.Add(100);
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"r", 10}}));
  EXPECT_EQ(OutlivedBy(recorded.path(), "session"), (ByValue{{"s", 111}}));
  // A block of two ended scopes counts once.
  EXPECT_EQ(OutlivedBy(recorded.path(), ""), (ByValue{{"", 111}}));
}

// An outer scope is noted by what its inner scopes have allocated alone.
TEST(OutlivedTest, OuterScopeWithoutBlocksOfItsOwn) {
  const Recorded recorded(EveryBlock("outer"));
  Kept kept;
  {
    const ScopedLabel session("session", "s", kEnds);
    for (int i = 0; i < 3; ++i) {
      const ScopedLabel request("request", "r", kEnds);
      kept.Add(10);
    }
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "session"), (ByValue{{"s", 30}}));
}

// A cache that may outlive is excused by other labels.
TEST(OutlivedTest, ExactlyOtherLabelsAreNoPartOfTheScope) {
  const Recorded recorded(EveryBlock("excused"));
  Kept kept;
  {
    const ScopedLabel request("request", "1", kEnds);
    const WithLabels none{Labels()};
    kept.Add(1000);
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), ByValue());
}

TEST(OutlivedTest, EndLabelIsOfAllThreads) {
  const Recorded recorded(EveryBlock("end label"));
  Kept kept;
  Labels labels;
  {
    const ScopedLabel job("job", "7");
    labels = CurrentLabels();
    kept.Add(1);
  }
  std::thread([&] {
    const WithLabels with(labels);
    kept.Add(10);
  }).join();
  {
    const ScopedLabel other("job", "8");
    kept.Add(100);
  }
  EndLabel("job", "7");
  EXPECT_EQ(OutlivedBy(recorded.path(), "job"), (ByValue{{"7", 11}}));
  {
    const ScopedLabel again("job", "7");
    kept.Add(1000);
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "job"), (ByValue{{"7", 11}}));
  EndLabel("job", "7");
  EXPECT_EQ(OutlivedBy(recorded.path(), "job"), (ByValue{{"7", 1011}}));
}

// Blocks that another thread has freed, or that it frees later.
TEST(OutlivedTest, WhicheverThreadFrees) {
  const Recorded recorded(EveryBlock("freed elsewhere"));
  Kept kept, rest;
  {
    const ScopedLabel request("request", "1", kEnds);
    kept.Add(1000);
    rest.Add(24);
  }
  std::thread([&] { kept.Free(); }).join();
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"1", 24}}));
}

__attribute__((noinline)) void LeaveBy(std::jmp_buf* environment, Kept* kept) {
  // No destructor runs, as in C.
  static allomon_ending_scope scope;
  allomon_label_push_ending(&scope, "request", SIZE_MAX, "left", SIZE_MAX);
  kept->Add(100);
  std::longjmp(*environment, 1);
}

TEST(OutlivedTest, ScopeThatWasLeftEndsWithTheOuterOne) {
  const Recorded recorded(EveryBlock("longjmp"));
  static Kept kept;
  {
    const ScopedLabel tenant("tenant", "t");
    std::jmp_buf environment;
    if (setjmp(environment) == 0) LeaveBy(&environment, &kept);
    EXPECT_EQ(OutlivedBy(recorded.path(), "request"), ByValue());
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"left", 100}}));
  kept.Free();
}

struct Cell {
  long value;
  gc::Field<Cell> next;
};

TEST(OutlivedTest, ManagedObjectsThroughPromotion) {
  const Recorded recorded(EveryBlock("managed"));
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  const gc::Mutator mutator(**heap);
  gc::Root<Cell> list;
  {
    const ScopedLabel request("request", "1", kEnds);
    for (int i = 0; i < 100; ++i) list = gc::make<Cell>(i, list);
  }
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"1", 2400}}));
  (*heap)->CollectFromTop(gc::CollectionKind::kMinor);
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"1", 2400}}));
  list = nullptr;
  (*heap)->CollectFromTop(gc::CollectionKind::kMajor);
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), ByValue());
}

TEST(OutlivedTest, TwoRecordingsAtOnce) {
  const Recorded first(EveryBlock("first"));
  Kept kept;
  {
    const ScopedLabel request("request", "1", kEnds);
    kept.Add(1);
    const Recorded second(EveryBlock("second"));
    kept.Add(10);
    EXPECT_EQ(OutlivedBy(first.path(), "request"), ByValue());
    {
      const ScopedLabel inner("request", "2", kEnds);
      kept.Add(100);
    }
    EXPECT_EQ(OutlivedBy(first.path(), "request"), (ByValue{{"2", 100}}));
    EXPECT_EQ(OutlivedBy(second.path(), "request"), (ByValue{{"2", 100}}));
  }
  EXPECT_EQ(OutlivedBy(first.path(), "request"), (ByValue{{"1", 11}, {"2", 100}}));
}

// Records of scopes are used again: as many as have live blocks, whatever the number of scopes.
TEST(OutlivedTest, ManyScopesTakeNoRoom) {
  const Recorded recorded(EveryBlock("many scopes"));
  constexpr int kScopes = 100'000;
  std::mt19937 random(1);
  std::vector<void*> live(64, nullptr);
  double expected = 0;
  for (int i = 0; i < kScopes; ++i) {
    const ScopedLabel session("session", "s", kEnds);
    const ScopedLabel request("request", "r", kEnds);
    void*& place = live[random() % live.size()];
    SamplingFree(place);
    place = SamplingMalloc(16);
  }
  for (void* const block : live) expected += block == nullptr ? 0 : 16;
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"r", expected}}));
  EXPECT_EQ(OutlivedBy(recorded.path(), "session"), (ByValue{{"s", expected}}));
  recording::Recording read;
  std::string error;
  recording::FileBytes bytes;
  ASSERT_TRUE(bytes.Open(recorded.path(), &error) && ReadRecording(bytes, &read, &error)) << error;
  EXPECT_LE(read.processes.front().scopes.size(), 2 * live.size() + 2);
  for (void* const block : live) SamplingFree(block);
}

// Threads open scopes, and free each other's blocks.
TEST(OutlivedTest, ManyThreads) {
  const Recorded recorded(EveryBlock("many threads"));
  constexpr int kThreads = 4, kScopes = 20'000;
  std::array<std::atomic<void*>, 256> shared = {};
  const auto work = [&shared](int seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    for (int i = 0; i < kScopes; ++i) {
      const ScopedLabel request("request", "r", kEnds);
      SamplingFree(shared[random() % shared.size()].exchange(SamplingMalloc(16)));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  double expected = 0;
  for (const auto& block : shared) expected += block.load() == nullptr ? 0 : 16;
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), (ByValue{{"r", expected}}));
  for (const auto& block : shared) SamplingFree(block.load());
  EXPECT_EQ(OutlivedBy(recorded.path(), "request"), ByValue());
}

}  // namespace
}  // namespace allomon
