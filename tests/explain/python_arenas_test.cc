#include "tools/explain/python_arenas.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace allomon::explain {
namespace {

constexpr uint64_t kPool = 16384;
constexpr size_t kPools = 64;

// 64 pools in memory of this process's own, all untouched.
class Arenas : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const pages = mmap(nullptr, (kPools + 1) * kPool, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    mapped_ = static_cast<char*>(pages);
    const auto address = reinterpret_cast<uintptr_t>(pages);
    first_ = (address + kPool - 1) / kPool * kPool;
    mapping_.begin = address;
    mapping_.end = address + (kPools + 1) * kPool;
    mapping_.is_readable = mapping_.is_writable = true;
  }
  void TearDown() override { munmap(mapped_, (kPools + 1) * kPool); }

  // Writes the header of pool `i`, with the fields of CPython 3.11.
  void Put(size_t i, uint32_t used, uint32_t size_class, uint32_t next, uint32_t most) {
    const uint32_t words[] = {used, 0, 0, 0, 0, 0, 0, 0, 7, size_class, next, most};
    memcpy(reinterpret_cast<void*>(first_ + i * kPool), words, sizeof(words));
  }

  std::vector<Area> Find() {
    std::vector<Area> areas = areas_;
    AddPythonPools(Process(static_cast<uint32_t>(getpid())), {mapping_}, &areas);
    return areas;
  }

  char* mapped_ = nullptr;
  uint64_t first_ = 0;
  Mapping mapping_;
  std::vector<Area> areas_;
};

TEST_F(Arenas, PoolsAreFoundByTheirHeaders) {
  Put(3, 100, 2, 48 + 200 * 48, kPool - 48);
  Put(4, 0, 31, 48 + 31 * 512, kPool - 512);  // was emptied
  Put(9, 1, 0, 48 + 2 * 16, kPool - 16);
  const auto areas = Find();
  ASSERT_EQ(areas.size(), 2u);
  EXPECT_EQ(areas[0].begin, first_ + 3 * kPool);
  EXPECT_EQ(areas[0].end, first_ + 5 * kPool);
  EXPECT_EQ(areas[0].use, Use::kPython);
  EXPECT_EQ(areas[0].live_blocks, 100u);
  EXPECT_EQ(areas[0].live_bytes, 4800u);
  EXPECT_EQ(areas[1].live_bytes, 16u);
}

TEST_F(Arenas, HeadersThatDisagreeAreOtherMemory) {
  Put(0, 1, 2, 48 + 96, kPool - 64);         // the end of another size
  Put(1, 1, 32, 48 + 2 * 528, kPool - 528);  // no such size
  Put(2, 341, 2, 48 + 96, kPool - 48);       // more blocks than there is room for
  Put(3, 1, 2, 48, kPool - 48);              // no block was ever in use
  Put(4, 1, 2, 48 + 50, kPool - 48);         // in the middle of a block
  Put(5, 1, 2, kPool + 48, kPool - 48);      // beyond the end
  EXPECT_TRUE(Find().empty());
}

TEST_F(Arenas, MemoryOfOthersStaysTheirs) {
  for (size_t i = 0; i < 8; ++i) Put(i, 1, 0, 48 + 32, kPool - 16);
  areas_ = {{first_, first_ + 2 * kPool, Use::kBlocks, 0, 0, 0, 0},
            {first_ + 5 * kPool + 4096, first_ + 6 * kPool, Use::kTables, 0, 0, 0, 0}};
  const auto areas = Find();
  ASSERT_EQ(areas.size(), 4u);
  EXPECT_EQ(areas[1].begin, first_ + 2 * kPool);
  EXPECT_EQ(areas[1].end, first_ + 5 * kPool);
  EXPECT_EQ(areas[3].begin, first_ + 6 * kPool);
  EXPECT_EQ(areas[3].end, first_ + 8 * kPool);
}

// The kernel would map a page of zeroes for whoever reads one that is not there.
TEST_F(Arenas, PagesThatAreNotThereAreNotRead) {
  Put(1, 1, 0, 48 + 32, kPool - 16);
  Find();
  const Process self(static_cast<uint32_t>(getpid()));
  EXPECT_EQ(self.ResidentBytes(first_, first_ + kPools * kPool), 4096u);
}

}  // namespace
}  // namespace allomon::explain
