// The index from addresses to handles: its cost in the worst order, and its locks over fork.
#include "tracker/core/address_index.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/heap_client.h"

namespace allomon::internal {
namespace {

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
