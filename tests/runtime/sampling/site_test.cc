// Pretenuring: the choice of sites that make old objects, and the behaviour of these objects.
#include "runtime/site.h"

#include <fenv.h>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <deque>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/tables/site_table.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

struct FollowAll {
  std::optional<char> alloc_minor(const Allocation&) { return 0; }
  std::optional<char> alloc_major(const Allocation&) { return 0; }
  std::optional<char> promote(char) { return 0; }
};

HeapOptions Options(const std::string& more = "") {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  EXPECT_TRUE(options.Parse(more).ok());
  return options;
}

class SiteTest : public ::testing::Test {
 protected:
  // Makes a list of `bytes` at the site.  Its numbers count down to 0.
  __attribute__((noinline)) static void Extend(Root<Cell>& list, Site& site, size_t bytes) {
    for (size_t made = 0; made < bytes; made += 3 * 8) {
      list = make<Cell>(site, list ? list->head + 1 : 0, list);
    }
  }
  // The same of garbage.
  __attribute__((noinline)) static void Waste(Site& site, size_t bytes) {
    for (size_t made = 0; made < bytes; made += 3 * 8) make<Cell>(site, 1, nullptr);
  }
  static long Wrong(const Root<Cell>& list) {
    long wrong = 0;
    long expected = list->head;
    for (Local<Cell> cell = list; cell; cell = cell->tail) wrong += cell->head != expected--;
    return wrong + (expected != -1);
  }
  // The objects live as long as the test.
  void MakeOld(Site& site) {
    Extend(kept_, site, 4 << 20);
    ASSERT_TRUE(site.allocates_old());
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
  Root<Cell> kept_;
};

// Tests with the verifier, which walks the whole heap after each collection.  The site is old
// because of a loaded state, so that the heap is small.
class VerifiedSiteTest : public SiteTest {
 protected:
  VerifiedSiteTest() { heap_->core().options.verify = true; }
  static void LoadOld(const Site& site) { internal::SiteTable::Get().Load({{site.name(), true}}); }
};

TEST_F(SiteTest, ObjectsThatAllLiveAreBornOldSoon) {
  Site site;
  Root<Cell> list;
  Extend(list, site, 16 << 20);
  EXPECT_TRUE(site.allocates_old());
  EXPECT_EQ(Wrong(list), 0);
  const HeapStatistics s = heap_->statistics();
  EXPECT_GT(s.born_old_words * 8, uint64_t{11} << 20);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(Wrong(list), 0);
}

// A program may trap floating-point exceptions, and read their flags.
TEST_F(SiteTest, FloatingPointOfTheHeapIsNotSeenByTheProgram) {
  StartOptions sampling;
  sampling.seed = 3;
  Site old_site;
  Site young_site;
  Root<Cell> list;
  std::feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_ALL_EXCEPT);
  const auto tracker = Tracker::start(0.01, FollowAll(), sampling);
  Extend(list, old_site, 16 << 20);
  Waste(young_site, 4 << 20);
  const bool stopped = Tracker::stop().ok();
  const bool was_old = old_site.allocates_old();
  fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  EXPECT_TRUE(tracker.ok() && stopped);
  EXPECT_TRUE(was_old);
  EXPECT_EQ(Wrong(list), 0);
}

TEST_F(SiteTest, ObjectsThatDieStayYoung) {
  Site site;
  Waste(site, 16 << 20);
  EXPECT_FALSE(site.allocates_old());
  EXPECT_GT(site.survival().samples, 100u);
  EXPECT_EQ(heap_->statistics().born_old_words, 0u);
}

// One object in four dies: 75 % are not enough.
TEST_F(SiteTest, ObjectsOfWhichAQuarterDiesStayYoung) {
  Site site;
  Root<Cell> list;
  for (int i = 0; i < 1'000'000; ++i) {
    if (i % 4 == 0) {
      make<Cell>(site, 0, nullptr);
    } else {
      list = make<Cell>(site, i, list);
    }
  }
  EXPECT_FALSE(site.allocates_old());
  const SiteSurvival survival = site.survival();
  EXPECT_GT(survival.samples, 300u);
  EXPECT_NEAR(static_cast<double>(survival.promoted) / static_cast<double>(survival.samples), .75,
              ::allomon::testing::kSigmas * .5 / std::sqrt(300));
}

TEST_F(SiteTest, SiteGoesBackWhenItsObjectsDieYoung) {
  Site site;
  MakeOld(site);
  Waste(site, 8 << 20);
  EXPECT_FALSE(site.allocates_old());
  EXPECT_EQ(site.survival().changes, 2u);
}

// Dead old objects refer to young ones, which are therefore promoted.
TEST_F(SiteTest, SiteGoesBackThoughDeadOldObjectsKeepTheYoungOnes) {
  Site site;
  MakeOld(site);
  for (int i = 0; i < 100 && site.allocates_old(); ++i) {
    Root<Cell> list;
    Extend(list, site, 256 << 10);
  }
  EXPECT_FALSE(site.allocates_old());
}

TEST_F(SiteTest, OptionTurnsItOff) {
  Site site;
  MakeOld(site);
  const uint64_t before = heap_->statistics().born_old_words;
  EXPECT_GT(before, 0u);
  NativeRegion native;
  std::thread([&site] {
    const auto heap = Heap::Create(Options("pretenure=0")).value();
    const Mutator mutator(*heap);
    Root<Cell> list;
    Extend(list, site, 1 << 20);
    EXPECT_EQ(heap->statistics().born_old_words, 0u);
    EXPECT_EQ(Wrong(list), 0);
  }).join();
}

TEST_F(VerifiedSiteTest, YoungMembersOfOldObjectsAreRemembered) {
  Site site("verified");
  LoadOld(site);
  Root<Cell> list;
  for (long i = 0; i < 100'000; ++i) {
    const Local<Cell> young = make<Cell>(-i, nullptr);
    list = make<Cell>(site, i, make<Cell>(i, young));
    if (i % 1000 == 999) heap_->CollectFromTop(CollectionKind::kMinor);
    ASSERT_EQ(list->tail->tail->head, -i);
  }
}

__attribute__((noinline)) Local<Cell> MakeAtOld(Site& site) { return make<Cell>(site, 5, nullptr); }

TEST_F(VerifiedSiteTest, WordOfTheStackKeepsAnObjectThatWasBornOld) {
  Site site("verified");
  LoadOld(site);
  for (int i = 0; i < 300; ++i) {
    Local<Cell> only = MakeAtOld(site);
    if (i % 10 == 0) heap_->Collect(CollectionKind::kMajor);
    Waste(site, 1 << 10);
    ASSERT_EQ(only->head, 5);
  }
}

// The words allocated in all spaces are the words requested.
TEST_F(SiteTest, StatisticsAddUp) {
  Site site;
  Root<Cell> list;
  const uint64_t before = heap_->statistics().allocated_words;
  constexpr uint64_t kObjects = 500'000;
  for (uint64_t i = 0; i < kObjects; ++i) {
    list = make<Cell>(site, 1, list);
    if (i % 70'000 == 0) {
      ASSERT_EQ(heap_->statistics().allocated_words - before, 3 * (i + 1));
    }
  }
  list = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  heap_->CollectFromTop(CollectionKind::kMajor);
  const HeapStatistics s = heap_->statistics();
  EXPECT_GT(s.born_old_words, kObjects);
  EXPECT_EQ(s.old_words, 0u);
  EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words);
}

// --- Trackers.

struct Counts {
  std::atomic<uint64_t> born_young{0}, born_old{0}, samples{0}, promoted{0}, died_young{0},
      died_old{0};
};

class CountingTracker {
 public:
  explicit CountingTracker(Counts* counts) : counts_(counts) {}
  std::optional<int> alloc_minor(const Allocation& a) {
    ++counts_->born_young;
    counts_->samples += a.n_samples;
    return 1;
  }
  std::optional<int> alloc_major(const Allocation& a) {
    ++counts_->born_old;
    counts_->samples += a.n_samples;
    return 2;
  }
  std::optional<int> promote(int value) {
    EXPECT_EQ(value, 1);
    ++counts_->promoted;
    return 2;
  }
  void dealloc_minor(int value) {
    EXPECT_EQ(value, 1);
    ++counts_->died_young;
  }
  void dealloc_major(int value) {
    EXPECT_EQ(value, 2);
    ++counts_->died_old;
  }

 private:
  Counts* const counts_;
};

StartOptions Seeded(uint64_t seed) {
  StartOptions options;
  options.seed = seed;
  options.callstack_size = 0;
  return options;
}

// Objects of both spaces alternate; the rates have gaps shorter and longer than the old window.
TEST_F(SiteTest, SamplesAreBinomialInBothSpaces) {
  Site site;
  MakeOld(site);
  Root<Cell> list;
  for (const double rate : {1e-4, 1e-3, 1e-2, .3}) {
    Counts counts;
    ASSERT_TRUE(Tracker::start(rate, CountingTracker(&counts), Seeded(5)).ok());
    const HeapStatistics before = heap_->statistics();
    for (long i = 0; i < 300'000; ++i) {
      list = make<Cell>(site, i, make<Cell>(i, list));
    }
    ASSERT_TRUE(Tracker::stop().ok());
    const HeapStatistics after = heap_->statistics();
    const uint64_t words = after.allocated_words - before.allocated_words;
    ASSERT_EQ(words, 2u * 3 * 300'000);
    EXPECT_GT(after.born_old_words - before.born_old_words, words / 4);
    const double trials = static_cast<double>(words);
    EXPECT_NEAR(static_cast<double>(counts.samples), trials * rate,
                ::allomon::testing::BinomialTolerance(trials, rate))
        << rate;
  }
}

TEST_F(SiteTest, RateOneCountsEveryWordAndEachBlockIsInOneState) {
  Site site;
  MakeOld(site);
  Counts counts;
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts), Seeded(6)).ok());
  const HeapStatistics before = heap_->statistics();
  Root<Cell> list;
  Extend(list, site, 1 << 20);
  const HeapStatistics after = heap_->statistics();
  EXPECT_EQ(counts.samples, after.allocated_words - before.allocated_words);
  EXPECT_EQ(counts.born_old * 3, after.born_old_words - before.born_old_words);
  EXPECT_GT(counts.born_young, 0u);
  list = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts.born_young, counts.promoted + counts.died_young);
  EXPECT_EQ(counts.died_old, counts.promoted + counts.born_old);
  ASSERT_TRUE(Tracker::stop().ok());
}

// A program that makes only old objects must notice a tracker that starts.
TEST_F(SiteTest, TrackerThatStartsOnAnotherThreadIsSeenAtOnce) {
  Site site;
  MakeOld(site);
  Counts counts;
  std::thread([&counts] {
    ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts), Seeded(7)).ok());
  }).join();
  Root<Cell> list;
  for (uint64_t i = 1; i <= 100; ++i) {
    list = make<Cell>(site, 0, list);
    ASSERT_EQ(counts.samples, 3 * i);
  }
  ASSERT_TRUE(Tracker::stop().ok());
}

// A callback allocates at the same site, and collects, which closes the old window.
struct BusyTracker {
  Heap* heap;
  Site* site;
  int calls = 0;
  std::optional<int> alloc_major(const Allocation&) {
    make<Cell>(*site, 1, nullptr);
    if (++calls % 16 == 0) heap->Collect(CollectionKind::kMajor);
    return 1;
  }
};

TEST_F(VerifiedSiteTest, CallbacksAllocateAtTheSiteAndCollect) {
  Site site("verified");
  LoadOld(site);
  ASSERT_TRUE(Tracker::start(.05, BusyTracker{heap_.get(), &site}, Seeded(8)).ok());
  Root<Cell> list;
  Extend(list, site, 256 << 10);
  EXPECT_EQ(Wrong(list), 0);
  ASSERT_TRUE(Tracker::stop().ok());
}

// --- Threads, limits, modes.

TEST_F(SiteTest, ThreadsShareASite) {
  static Site site("shared by threads");
  const NativeRegion native;
  std::vector<std::thread> threads;
  std::atomic<long> wrong{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t, &wrong] {
      const Mutator mutator(*heap_);
      for (int round = 0; round < 3; ++round) {
        internal::SiteTable::Get().Load({{site.name(), true}});
        Root<Cell> list;
        Extend(list, site, 2 << 20);
        if (t == 0) heap_->Collect(CollectionKind::kMajor);
        wrong += Wrong(list);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(heap_->statistics().born_old_words, 10'000u);
}

// Returns the number of objects made before the heap is full.
__attribute__((noinline)) long FillUp(Site& site) {
  Root<Cell> list;
  long made = 0;
  try {
    for (;; ++made) list = make<Cell>(site, made, list);
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(list->head, made - 1);
  }
  return made;
}

TEST(SiteLimitTest, FullHeapThrowsAndGoesOn) {
  const auto heap = Heap::Create(Options("limit=16M")).value();
  const Mutator mutator(*heap);
  Site site;
  for (int round = 0; round < 3; ++round) {
    EXPECT_GT(FillUp(site) * 24, 8l << 20);
    heap->CollectFromTop(CollectionKind::kMajor);
  }
  EXPECT_GT(heap->statistics().born_old_words, 0u);
}

TEST(SiteStressTest, EachAllocationCollects) {
  const auto heap = Heap::Create(Options("stress=50,verify")).value();
  const Mutator mutator(*heap);
  Site site("each allocation collects");
  std::deque<Root<Cell>> cache;
  for (long i = 0; i < 12'000; ++i) {
    if (i % 1000 == 0) internal::SiteTable::Get().Load({{site.name(), true}});
    cache.push_back(make<Cell>(site, i, make<Cell>(-i, nullptr)));
    if (cache.size() > 500) cache.pop_front();
    ASSERT_EQ(cache.front()->head + cache.front()->tail->head, 0);
  }
  EXPECT_GT(heap->statistics().born_old_words, 1000u);
}

// --- Sites as things of their own.

TEST_F(SiteTest, SiteIsDestroyedWhileItsObjectsAreFollowed) {
  Root<Cell> list;
  for (int i = 0; i < 2000; ++i) {
    Site site("node");
    Extend(list, site, 4 << 10);
    EXPECT_FALSE(site.allocates_old());
  }
  EXPECT_EQ(Wrong(list), 0);
}

TEST_F(SiteTest, PlaceInTheSourceIsASite) {
  Site* sites[2] = {};
  for (Site*& site : sites) site = &ALLOMON_GC_SITE();
  EXPECT_EQ(sites[0], sites[1]);
  EXPECT_NE(sites[0], &ALLOMON_GC_SITE());
  EXPECT_NE(std::string(sites[0]->name()).find("site_test.cc:"), std::string::npos);
}

std::string PathOf(const char* name) { return ::testing::TempDir() + "/" + name; }

TEST_F(SiteTest, NextRunBeginsWithTheStatesOfTheLast) {
  const std::string path = PathOf("sites");
  Root<Cell> list;
  {
    Site lives("lives");
    Site dies("dies");
    MakeOld(lives);
    Waste(dies, 1 << 20);
    ASSERT_TRUE(SaveSites(path).ok());
  }
  ASSERT_TRUE(LoadSites(path).ok());
  Site lives("lives");
  Site dies("dies");
  Extend(list, lives, 64 << 10);
  Waste(dies, 64 << 10);
  EXPECT_TRUE(lives.allocates_old());
  EXPECT_FALSE(dies.allocates_old());
  ASSERT_TRUE(Heap::Create(Options("sites=" + path)).ok());
}

TEST_F(SiteTest, FileThatIsNoneIsNamed) {
  const std::string path = PathOf("none");
  EXPECT_EQ(LoadSites(path + "/missing").code(), absl::StatusCode::kNotFound);
  for (const char* text : {"", "something", "allomon sites 1\nold x\nolder y\n"}) {
    std::ofstream(path) << text;
    const absl::Status status = LoadSites(path);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.ToString().find(path), std::string::npos) << status;
  }
  EXPECT_NE(LoadSites(path).ToString().find("line 3"), std::string::npos);
  EXPECT_FALSE(Heap::Create(Options("sites=" + path)).ok());
  HeapOptions options;
  EXPECT_FALSE(options.Parse("sites").ok());
  EXPECT_FALSE(SaveSites("/nowhere/sites").ok());
}

// At the first block that is born old, takes all that the limit allows, and lets go of it.
struct FillOnce {
  std::optional<char> alloc_minor(const Allocation&) { return std::nullopt; }
  std::optional<char> alloc_major(const Allocation&) {
    if (!std::exchange(*armed, false)) return std::nullopt;
    Root<Cell> filling;
    try {
      for (;;) filling = make<Cell>(*site, 0, filling);
    } catch (const std::bad_alloc&) {
    }
    return std::nullopt;
  }

  Site* site;
  bool* armed;
};

TEST(SiteLimitTest, RoomThatACallbackTookIsCollectedForTheSampledObject) {
  Site site;
  const auto heap = Heap::Create(Options("limit=16M")).value();
  const Mutator mutator(*heap);
  Root<Cell> kept;
  while (!site.allocates_old()) kept = make<Cell>(site, kept ? kept->head + 1 : 0, kept);
  bool armed = true;
  ASSERT_TRUE(Tracker::start(1, FillOnce{&site, &armed}).ok());
  for (int i = 0; i < 1000 && armed; ++i) {
    EXPECT_NO_THROW(kept = make<Cell>(site, kept->head + 1, kept));
  }
  EXPECT_TRUE(Tracker::stop().ok());
  EXPECT_FALSE(armed);
  long expected = kept->head;
  for (Local<Cell> cell = kept; cell; cell = cell->tail) ASSERT_EQ(cell->head, expected--);
  EXPECT_EQ(expected, -1);
}

}  // namespace
}  // namespace allomon::gc
