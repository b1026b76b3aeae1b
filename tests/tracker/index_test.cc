// The hash index with lock-free readers: a model test, growth, and readers while chains split.  The
// index from addresses to handles: its cost in the worst order, and its locks over fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sanitizers.h"
#include "tracker/base/chain_index.h"
#include "tracker/core/address_index.h"
#include "tracker/heap_client.h"

namespace allomon::internal {
namespace {

constexpr uint32_t kMost = 1 << 16;

// Number n has the hash hashes[n].
struct Records {
  explicit Records(uint32_t count) : hashes(count), next(new std::atomic<uint32_t>[count]()) {}

  std::atomic<uint32_t>& Next(uint32_t number) const { return next[number]; }
  uint64_t HashOf(uint32_t number) const { return hashes[number]; }

  std::vector<uint64_t> hashes;
  std::unique_ptr<std::atomic<uint32_t>[]> next;
};

uint32_t FindNumber(const ChainIndex<kMost>& index, const Records& records, uint32_t number) {
  return index.Find(records.hashes[number], records, [=](uint32_t at) { return at == number; });
}

TEST(ChainIndexTest, HoldsWhatASetHolds) {
  if (testing::kHasThreadSanitizer) GTEST_SKIP() << "one thread";
  std::mt19937_64 random(1);
  Records records(20'000);
  // Few hashes, so that chains are long, and hashes that differ only in high bits.
  for (uint64_t& hash : records.hashes) hash = random() % 3000 << (random() % 2 * 40);
  ChainIndex<kMost> index;
  std::set<uint32_t> model;
  for (int step = 0; step < 60'000; ++step) {
    const auto number = static_cast<uint32_t>(1 + random() % (records.hashes.size() - 1));
    if (model.count(number) == 0) {
      ASSERT_TRUE(index.Reserve());
      index.Insert(number, records);
      model.insert(number);
    } else if (random() % 3 == 0) {
      index.Remove(number, records);
      index.Remove(number, records);  // is out already
      model.erase(number);
    }
    const auto asked = static_cast<uint32_t>(1 + random() % (records.hashes.size() - 1));
    ASSERT_EQ(FindNumber(index, records, asked), model.count(asked) == 1 ? asked : 0);
  }
  for (uint32_t number = 1; number < records.hashes.size(); ++number) {
    ASSERT_EQ(FindNumber(index, records, number), model.count(number) == 1 ? number : 0);
  }
  index.Clear();
  EXPECT_EQ(FindNumber(index, records, *model.begin()), 0u);
}

// A thread that inserts looks at one chain, never at all records, however many there are.
TEST(ChainIndexTest, AnInsertionLooksAtFewRecords) {
  std::mt19937_64 random(1);
  Records records(50'000);
  for (uint64_t& hash : records.hashes) hash = random();
  ChainIndex<kMost> index;
  uint32_t most = 0;
  for (uint32_t number = 1; number < records.hashes.size(); ++number) {
    ASSERT_TRUE(index.Reserve());
    most = std::max(most, index.Insert(number, records));
  }
  // Chains hold two records on average before they are split.  By the Poisson distribution, the
  // probability of more than 24 is 1e-18 each.
  EXPECT_LE(most, 24u);
}

// A full index accepts further records in longer chains.
TEST(ChainIndexTest, AFullIndexGoesOn) {
  Records records(3000);
  for (uint32_t number = 0; number < 3000; ++number) records.hashes[number] = number * 7;
  ChainIndex<1024> index;
  uint32_t refused = 0;
  for (uint32_t number = 1; number < 3000; ++number) {
    if (!index.Reserve()) ++refused;
    index.Insert(number, records);
  }
  EXPECT_GT(refused, 0u);
  for (uint32_t number = 1; number < 3000; ++number) {
    const auto is = [=](uint32_t at) { return at == number; };
    ASSERT_EQ(index.Find(records.hashes[number], records, is), number);
  }
}

// A reader may miss a record that is being moved, and finds it in the end; a record that it finds
// is the right one.
TEST(ChainIndexTest, ReadersGoOnWhileItGrows) {
  std::mt19937_64 random(1);
  Records records(40'000);
  for (uint64_t& hash : records.hashes) hash = random();
  ChainIndex<kMost> index;
  std::atomic<uint32_t> inserted{0};
  std::atomic<uint64_t> wrong{0};
  const auto read = [&](uint64_t seed) {
    std::mt19937_64 own(seed);
    for (uint32_t known; (known = inserted.load(std::memory_order_acquire)) < 39'999;) {
      if (known == 0) continue;
      const auto number = static_cast<uint32_t>(1 + own() % known);
      const uint32_t found = FindNumber(index, records, number);
      if (found != 0 && found != number) ++wrong;
    }
  };
  std::thread readers[] = {std::thread(read, 2), std::thread(read, 3)};
  for (uint32_t number = 1; number < 40'000; ++number) {
    if (!index.Reserve()) abort();
    index.Insert(number, records);
    inserted.store(number, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
  for (uint32_t number = 1; number < 40'000; ++number) {
    ASSERT_EQ(FindNumber(index, records, number), number);
  }
}

// The index from addresses to handles: its cost in the worst order, and its locks over fork.

const void* BlockAt(uintptr_t address) { return reinterpret_cast<const void*>(address); }

void Put(AddressIndex* index, uintptr_t address, AddressIndex::Handle handle) {
  ASSERT_TRUE(index->Reserve());
  index->Insert(BlockAt(address), handle);
}

// If the load is at most one half, a failing look-up takes 2.5 probes (Knuth, The Art of Computer
// Programming 3, 6.4), and growth reinserts each block twice.
constexpr double kMostProbesPerOperation = 8;

// Blocks that lie `stride_bytes` apart, inserted upwards or downwards.
struct Order {
  uintptr_t stride_bytes;
  bool downwards;
};

class AddressIndexCostTest : public ::testing::TestWithParam<Order> {};

// Probing used to begin at a hash of 4,096 values: 65,536 blocks took 16 probes each, and more
// blocks took more.
TEST_P(AddressIndexCostTest, ProbesAreLinearInOperations) {
  constexpr uint32_t kBlocks = 1 << 16;
  constexpr uintptr_t kFirst = uintptr_t{1} << 46;
  AddressIndex index;
  const auto address_of = [](uint32_t i) {
    return kFirst + (GetParam().downwards ? kBlocks - i : i) * GetParam().stride_bytes;
  };
  for (uint32_t i = 0; i < kBlocks; ++i) Put(&index, address_of(i), i + 1);
  // Removes and reinserts each block, which leaves a tombstone each time.
  for (uint32_t i = 0; i < kBlocks; ++i) {
    ASSERT_EQ(index.Take(BlockAt(address_of(i))), i + 1);
    Put(&index, address_of(i), i + 1);
  }
  for (uint32_t i = 0; i < kBlocks; ++i) ASSERT_EQ(index.Take(BlockAt(address_of(i))), i + 1);
  EXPECT_LT(static_cast<double>(index.ProbesForTesting()), kMostProbesPerOperation * 4 * kBlocks);
}

INSTANTIATE_TEST_SUITE_P(Orders, AddressIndexCostTest,
                         ::testing::Values(Order{16, false}, Order{16, true}, Order{48, false},
                                           Order{4096, false}, Order{4096, true},
                                           Order{65536, true}, Order{uintptr_t{1} << 28, false}));

// Few live blocks with many insertions and removals: the tombstones must not fill the table up.
TEST(AddressIndexTest, OneBlockThatComesAndGoesCostsTheSameForEver) {
  AddressIndex index;
  constexpr uint32_t kRounds = 100000;
  for (uint32_t i = 1; i <= kRounds; ++i) {
    Put(&index, i * 16, i);
    ASSERT_EQ(index.Take(BlockAt(i * 16)), i);
  }
  EXPECT_LT(static_cast<double>(index.ProbesForTesting()), kMostProbesPerOperation * 2 * kRounds);
}

// Another thread held the lock when the child was made, and does not exist there to release it.
TEST(AddressIndexTest, ChildOfForkFindsTheLockOpen) {
  heap_client::InstallForkHandlers();
  AddressIndex index;
  std::atomic<bool> done{false};
  std::thread other([&index, &done] {
    for (uintptr_t i = 1; !done; ++i) {
      Put(&index, i * 32, 1);
      index.Take(BlockAt(i * 32));
    }
  });
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      Put(&index, 16, 7);
      _exit(index.Take(BlockAt(16)) == 7 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << i;
    if (status != 0) break;
  }
  done = true;
  other.join();
}

}  // namespace
}  // namespace allomon::internal
