#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tools/explain/page_table.h"
#include "tools/explain/python_arenas.h"
#include "tracker/formats/process_map.h"

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

// An arena of 64 slices as mimalloc 3 has them, with fields in places of our own.
class PageTables : public ::testing::Test {
 protected:
  static constexpr uint64_t kSlice = 65536;
  static constexpr uint64_t kSlices = 64;
  static constexpr uint64_t kOwnSlices = 2;
  static constexpr uint64_t kPartEntries = 1 << 13;
  static constexpr uint32_t kArena = 7, kMapping = 4;

  struct Header {
    uint32_t kind;
    uint32_t first_slice;
    uint32_t slices;
    uint16_t used, capacity, reserved;
    uint64_t block_bytes;
    uint64_t first_block;
    uint64_t place;  // of the arena, or of the mapping
    uint64_t mapping_bytes;
  };
  struct ArenaHead {
    uint64_t slices, own_slices, bitmap;
  };

  void SetUp() override {
    void* const pages = mmap(nullptr, (kSlices + 1) * kSlice, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    mapped_ = pages;
    const auto address = reinterpret_cast<uintptr_t>(pages);
    arena_ = (address + kSlice - 1) / kSlice * kSlice;
    mapping_.begin = address;
    mapping_.end = address + (kSlices + 1) * kSlice;
    mapping_.is_writable = true;
    parts_.resize((uint64_t{1} << 48) / kSlice / kPartEntries);
    part_.resize(2 * kPartEntries);  // the arena may begin at the end of a part
    const uint64_t part = arena_ / kSlice / kPartEntries;
    parts_[part] = reinterpret_cast<uintptr_t>(part_.data());
    parts_[part + 1] = reinterpret_cast<uintptr_t>(part_.data() + kPartEntries);
    *At<ArenaHead>(arena_) = {kSlices, kOwnSlices, Slice(1) + 1024};
    // A bit says that a slice is free.
    bits_ = At<uint8_t>(Slice(1) + 1024 + 8);
    memset(bits_, 0xff, kSlices / 8);
    bits_[0] = 0xfc;
  }
  void TearDown() override { munmap(mapped_, (kSlices + 1) * kSlice); }

  template <typename Value>
  static Value* At(uint64_t address) {
    return reinterpret_cast<Value*>(address);
  }

  uint64_t Slice(uint64_t number) const { return arena_ + number * kSlice; }
  void Enter(uint64_t slice, uint64_t header) {
    part_[Slice(slice) / kSlice - arena_ / kSlice / kPartEntries * kPartEntries] = header;
  }
  void Take(uint64_t slice) { bits_[slice / 8] &= static_cast<uint8_t>(~(1 << slice % 8)); }

  // A page of `slices` slices with blocks of 100 bytes.
  Header* AddPage(uint64_t slice, uint64_t slices, uint16_t used, uint16_t capacity) {
    auto* const header = At<Header>(Slice(slice));
    *header = {kArena,
               static_cast<uint32_t>(slice),
               static_cast<uint32_t>(slices),
               used,
               capacity,
               600,
               100,
               Slice(slice) + 128,
               arena_,
               0};
    for (uint64_t i = slice; i < slice + slices; ++i) {
      Enter(i, Slice(slice));
      Take(i);
    }
    return header;
  }

  process_map::PageTable Table() const {
    process_map::PageTable table = {};
    table.parts = &parts_begin_;
    table.part_count = parts_.size();
    table.part_entries = kPartEntries;
    table.slice_bytes = kSlice;
    table.header_bytes = sizeof(Header);
    table.used_offset = offsetof(Header, used);
    table.capacity_offset = offsetof(Header, capacity);
    table.reserved_offset = offsetof(Header, reserved);
    table.block_bytes_offset = offsetof(Header, block_bytes);
    table.start_offset = offsetof(Header, first_block);
    table.kind_offset = offsetof(Header, kind);
    table.arena_kind = kArena;
    table.least_mapping_kind = table.most_mapping_kind = kMapping;
    table.arena_offset = table.mapping_offset = offsetof(Header, place);
    table.first_slice_offset = offsetof(Header, first_slice);
    table.slice_count_offset = offsetof(Header, slices);
    table.mapping_bytes_offset = offsetof(Header, mapping_bytes);
    table.arena_slices_offset = offsetof(ArenaHead, slices);
    table.arena_info_offset = offsetof(ArenaHead, own_slices);
    table.arena_free_offset = offsetof(ArenaHead, bitmap);
    table.bits_offset = 8;
    return table;
  }

  // The areas in the arena.
  std::vector<Area> Find(const process_map::PageTable& table) {
    parts_begin_ = reinterpret_cast<uintptr_t>(parts_.data());
    std::vector<Area> areas;
    const Process self(static_cast<uint32_t>(getpid()));
    is_found_ = AddPagesOfTable(self.memory(), {mapping_}, table, &areas);
    MakeDisjoint(&areas);
    const auto is_elsewhere = [this](const Area& area) {
      return area.end <= arena_ || area.begin >= Slice(kSlices);
    };
    areas.erase(std::remove_if(areas.begin(), areas.end(), is_elsewhere), areas.end());
    return areas;
  }
  std::vector<Area> Find() { return Find(Table()); }

  void* mapped_ = nullptr;
  uint64_t arena_ = 0;
  Mapping mapping_;
  std::vector<uint64_t> parts_;
  std::vector<uint64_t> part_;
  uint64_t parts_begin_ = 0;
  uint8_t* bits_ = nullptr;  // of the arena
  bool is_found_ = false;
};

TEST_F(PageTables, PagesFreeSlicesAndTheAllocatorsOwn) {
  AddPage(3, 2, 500, 590);
  Take(20);  // belongs to no page
  const auto areas = Find();
  ASSERT_TRUE(is_found_);
  ASSERT_EQ(areas.size(), 6u);
  const Use uses[] = {Use::kBackend,   Use::kFreePages, Use::kBlocks,
                      Use::kFreePages, Use::kBackend,   Use::kFreePages};
  const uint64_t ends[] = {2, 3, 5, 20, 21, kSlices};
  for (size_t i = 0; i < areas.size(); ++i) {
    EXPECT_EQ(areas[i].use, uses[i]) << i;
    EXPECT_EQ(areas[i].begin, Slice(i == 0 ? 0 : ends[i - 1])) << i;
    EXPECT_EQ(areas[i].end, Slice(ends[i])) << i;
  }
  EXPECT_EQ(areas[2].live_blocks, 500u);
  EXPECT_EQ(areas[2].live_bytes, 50'000u);
  EXPECT_EQ(areas[2].listed_bytes, 59'000u);
  EXPECT_EQ(areas[2].block_bytes, 100u);
  EXPECT_EQ(areas[2].first_block, Slice(3) + 128);
}

// mimalloc 3.0.1 leaves a freed page in the table, and other pages may overwrite its memory.
TEST_F(PageTables, PagesThatWereFreedAreFree) {
  AddPage(3, 4, 500, 590);
  *AddPage(5, 1, 0, 600) = *At<Header>(Slice(3));  // a copy, in the middle of the first
  AddPage(30, 1, 0, 600);
  AddPage(32, 1, 500, 590)->block_bytes = 120;  // 600 of them are larger than the page
  AddPage(34, 1, 500, 490);                     // more live ones than were ever in a list
  AddPage(36, 1, 500, 590)->first_block -= 4096;
  uint64_t live = 0;
  for (const Area& area : Find()) live += area.live_blocks;
  EXPECT_EQ(live, 500u);
}

// As 3.4 has them.
TEST_F(PageTables, HeadersElsewhereAndBeginsInWords) {
  AddPage(10, 1, 400, 590);
  Header* const apart = At<Header>(Slice(1) + 256);
  *apart = *At<Header>(Slice(10));
  memset(At<char>(Slice(10)), 0xff, sizeof(Header));  // now a block's
  Enter(10, Slice(1) + 256);
  const auto words = static_cast<uint32_t>((Slice(10) + 64 - (Slice(1) + 256)) / 8);
  memcpy(&apart->first_block, &words, sizeof(words));
  process_map::PageTable table = Table();
  table.start_unit_bytes = 8;
  const auto areas = Find(table);
  const auto page = std::find_if(areas.begin(), areas.end(),
                                 [](const Area& area) { return area.use == Use::kBlocks; });
  ASSERT_NE(page, areas.end());
  EXPECT_EQ(page->begin, Slice(10));
  EXPECT_EQ(page->first_block, Slice(10) + 64);
  EXPECT_EQ(page->live_blocks, 400u);
}

TEST_F(PageTables, AMappingIsAPage) {
  Header* const header = AddPage(40, 8, 1, 1);
  *header = {kMapping, 0, 0, 1, 1, 1, 7 * kSlice, Slice(41), Slice(40), 8 * kSlice};
  const auto areas = Find();
  ASSERT_EQ(areas.size(), 1u);
  EXPECT_EQ(areas[0].begin, Slice(40));
  EXPECT_EQ(areas[0].end, Slice(48));
  EXPECT_EQ(areas[0].live_bytes, 7 * kSlice);
}

// Whatever the memory says, the walk ends, and no page has more than it has room for.
TEST_F(PageTables, NoiseIsNoHeap) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    for (uint64_t slice = 2; slice < kSlices; ++slice) {
      Header* const header = AddPage(slice, 1, 500, 590);
      auto* const bytes = reinterpret_cast<uint8_t*>(header);
      for (int i = 0; i < 3; ++i) bytes[random() % sizeof(Header)] = static_cast<uint8_t>(random());
      if (random() % 8 == 0) Enter(slice, random());
    }
    if (round % 2 != 0) *At<ArenaHead>(arena_) = {random() >> random() % 64, random(), random()};
    uint64_t end = 0;
    for (const Area& area : Find()) {
      EXPECT_GE(area.begin, end);
      EXPECT_LE(area.live_bytes, area.end - area.begin);
      end = area.end;
    }
  }
  for (int round = 0; round < 300; ++round) {
    process_map::PageTable table = Table();
    auto* const bytes = reinterpret_cast<uint8_t*>(&table);
    const size_t at = sizeof(table.parts) + random() % (sizeof(table) - sizeof(table.parts));
    bytes[at] = static_cast<uint8_t>(random());
    Find(table);
  }
  process_map::PageTable table = Table();
  table.parts = reinterpret_cast<const void*>(8);
  Find(table);
  EXPECT_FALSE(is_found_);
}

// A table that would be read for hours is none.
TEST_F(PageTables, WorkIsBounded) {
  process_map::PageTable table = Table();
  table.slice_bytes = 4096;
  Find(table);
  EXPECT_FALSE(is_found_);
  table = Table();
  table.part_entries = 1;
  Find(table);
  EXPECT_FALSE(is_found_);
  // Of 128 TiB, each slice has a header.
  AddPage(3, 2, 500, 590);
  std::fill(part_.begin(), part_.end(), Slice(3));
  for (uint64_t& part : parts_) part = reinterpret_cast<uintptr_t>(part_.data());
  mapping_.begin = kSlice;
  mapping_.end = uint64_t{1} << 47;
  Find();
  EXPECT_FALSE(is_found_);
}

// The arena of a page without a live block is one all the same.
TEST_F(PageTables, AnArenaMayHaveNoBlocks) {
  AddPage(3, 2, 0, 590);
  uint64_t free_bytes = 0;
  for (const Area& area : Find()) {
    if (area.use == Use::kFreePages) free_bytes += area.end - area.begin;
  }
  EXPECT_EQ(free_bytes, (kSlices - kOwnSlices - 2) * kSlice);
}

}  // namespace
}  // namespace allomon::explain
