// The hash index with lock-free readers: a model test, growth, and readers while chains split.
#include "tracker/base/chain_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

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

}  // namespace
}  // namespace allomon::internal
