// Random programs, compared with a model that is obviously right: it knows for each block which
// callbacks every tracker must have received.
//
// At rate 1 only the program itself is random, and its seed is fixed. ALLOMON_MODEL_SECONDS makes
// it run longer than its few seconds in the suite.
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/custom_memory.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

// The callbacks that one tracker has received, and those that it should have received.
struct Watch {
  std::set<uint64_t> followed;  // serials of blocks for which another callback must follow
  std::set<uint64_t> survived;
  bool sampling = true;
  bool discarded = false;
  uint64_t parity = 0;  // follows blocks whose serial has this parity; 2: all
  TrackerId id;
};

// The program being run.
struct World {
  std::map<int, Watch> watches;
  // The current operation: callbacks must concern exactly this block.
  uint64_t born = 0;
  uint64_t size_bytes = 0;
  uint64_t dying = 0;
  uint64_t heard_births = 0;
  uint64_t heard_deaths = 0;
};

bool Follows(const Watch& watch, uint64_t serial) {
  return watch.parity == 2 || serial % 2 == watch.parity;
}

class WatchTracker {
 public:
  WatchTracker(World* world, int key) : world_(world), key_(key) {}

  std::optional<uint64_t> alloc_major(const Allocation& allocation) {
    Watch& watch = world_->watches.at(key_);
    EXPECT_TRUE(watch.sampling);
    EXPECT_EQ(allocation.size_bytes, world_->size_bytes);
    ++world_->heard_births;
    if (!Follows(watch, world_->born)) return std::nullopt;
    return world_->born;
  }
  void dealloc_major(uint64_t serial) {
    Watch& watch = world_->watches.at(key_);
    EXPECT_FALSE(watch.discarded);
    EXPECT_EQ(serial, world_->dying);
    EXPECT_EQ(watch.followed.erase(serial), 1u);
    ++world_->heard_deaths;
  }
  void survive_major(const Allocation&, uint64_t serial) {
    EXPECT_TRUE(world_->watches.at(key_).survived.insert(serial).second);
  }

 private:
  World* world_;
  int key_;
};

class ModelTest : public ::testing::Test {
 protected:
  struct Block {
    void* memory;
    size_t size_bytes;
    uint64_t serial;
  };

  size_t Random(size_t below) { return random_() % below; }

  size_t RandomSize() {
    switch (Random(8)) {
      case 0:
        return Random(2);
      case 1:
        return 30000 + Random(6000);
      case 2:
        return Random(8) == 0 ? 1000000 + Random(1000000) : Random(5000);
      default:
        return Random(300);
    }
  }

  // Announces the birth of a block, lets `allocate` make it, and checks which trackers heard.
  template <typename Allocate>
  void* Birth(size_t size_bytes, Allocate allocate) {
    world_.born = ++serials_;
    world_.size_bytes = size_bytes;
    world_.heard_births = 0;
    void* memory = allocate();
    uint64_t expected = 0;
    for (auto& [key, watch] : world_.watches) {
      if (!watch.sampling) continue;
      ++expected;
      if (Follows(watch, world_.born)) watch.followed.insert(world_.born);
    }
    EXPECT_EQ(world_.heard_births, expected);
    return memory;
  }

  template <typename Free>
  void Death(uint64_t serial, Free free_it) {
    uint64_t expected = 0;
    for (const auto& [key, watch] : world_.watches) {
      expected += watch.discarded ? 0 : watch.followed.count(serial);
    }
    world_.dying = serial;
    world_.heard_deaths = 0;
    free_it();
    EXPECT_EQ(world_.heard_deaths, expected);
  }

  void Allocate() {
    const size_t size = RandomSize();
    const size_t kind = Random(3);
    void* memory = Birth(size, [&]() -> void* {
      if (kind == 0) return SamplingCalloc(1, size);
      if (kind == 1) return SamplingAlignedAlloc(size_t{1} << Random(16), size);
      return SamplingMalloc(size);
    });
    ASSERT_NE(memory, nullptr);
    blocks_.push_back({memory, size, world_.born});
  }

  void Free() {
    if (blocks_.empty()) return;
    std::swap(blocks_[Random(blocks_.size())], blocks_.back());
    const Block block = blocks_.back();
    blocks_.pop_back();
    Death(block.serial, [&block] { SamplingFree(block.memory); });
  }

  // realloc is a birth, and then a death.
  void Reallocate() {
    if (blocks_.empty()) return;
    Block& block = blocks_[Random(blocks_.size())];
    const size_t size = RandomSize();
    uint64_t expected_deaths = 0;
    for (const auto& [key, watch] : world_.watches) {
      expected_deaths += watch.discarded ? 0 : watch.followed.count(block.serial);
    }
    world_.dying = block.serial;
    world_.heard_deaths = 0;
    block.memory = Birth(size, [&] { return SamplingRealloc(block.memory, size); });
    EXPECT_EQ(world_.heard_deaths, expected_deaths);
    block.size_bytes = size;
    block.serial = world_.born;
  }

  void Start() {
    if (world_.watches.size() >= 6) return;
    const int key = next_key_++;
    Watch& watch = world_.watches[key];
    watch.parity = Random(3);
    StartOptions options;
    options.concurrent = true;
    options.callstack_size = static_cast<uint32_t>(Random(10));
    const auto id = Tracker::start(1, WatchTracker(&world_, key), options);
    ASSERT_TRUE(id.ok()) << id.status();
    watch.id = *id;
  }

  // Stops a sampling tracker in one of the possible ways, or ends a stopped one.
  void End() {
    if (world_.watches.empty()) return;
    auto it = world_.watches.begin();
    std::advance(it, Random(world_.watches.size()));
    Watch& watch = it->second;
    if (watch.sampling) {
      watch.sampling = false;
      if (Random(2) == 0) {
        ASSERT_TRUE(Tracker::stop(watch.id, StopMode::kKeepTracking).ok());
        return;
      }
      watch.discarded = true;
      ASSERT_TRUE(Tracker::stop(watch.id).ok());
    } else if (Random(2) == 0) {
      ASSERT_TRUE(Tracker::drain(watch.id).ok());
      EXPECT_EQ(watch.survived, watch.followed);
    } else {
      ASSERT_TRUE(Tracker::discard(watch.id).ok());
    }
    world_.watches.erase(it);
  }

  void Snapshot() {
    for (const auto& [key, watch] : world_.watches) {
      uint64_t live = 0;
      for (const LiveStack& stack : Tracker::snapshot(watch.id)) live += stack.sampled_blocks;
      EXPECT_EQ(live, watch.followed.size());
    }
  }

  void Step() {
    switch (Random(100)) {
      case 0:
        return Start();
      case 1:
        return End();
      case 2:
        return Snapshot();
      default:
        break;
    }
    // The number of blocks varies between zero and a few hundred.
    if (Random(400) > blocks_.size()) return Allocate();
    return Random(4) == 0 ? Reallocate() : Free();
  }

  World world_;
  std::vector<Block> blocks_;
  std::mt19937_64 random_{20261121};
  uint64_t serials_ = 0;
  int next_key_ = 0;
};

TEST_F(ModelTest, EveryTrackerHearsExactlyWhatItShould) {
  const char* seconds = getenv("ALLOMON_MODEL_SECONDS");
  const time_t end = time(nullptr) + (seconds == nullptr ? 2 : atoi(seconds));
  uint64_t steps = 0;
  while (!HasFailure() && (steps < 20000 || time(nullptr) < end)) {
    Step();
    ++steps;
  }
  RecordProperty("steps", static_cast<int>(steps));
  while (!blocks_.empty() && !HasFailure()) Free();
  while (!world_.watches.empty() && !HasFailure()) End();
}

}  // namespace
}  // namespace allomon
