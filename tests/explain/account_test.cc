#include "tools/explain/account.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tools/explain/mappings.h"

namespace allomon::explain {
namespace {

constexpr char kSmaps[] =
    "55d000000000-55d000002000 r-xp 00000000 08:01 77     /usr/bin/program name\n"
    "Size:                  8 kB\n"
    "Rss:                   8 kB\n"
    "Pss:                   2 kB\n"
    "Anonymous:             0 kB\n"
    "VmFlags: rd ex mr mw me\n"
    "55d000002000-55d000003000 rw-p 00002000 08:01 77     /usr/bin/program name\n"
    "Rss:                   4 kB\n"
    "Anonymous:             4 kB\n"
    "55d000003000-55d000005000 rw-p 00000000 00:00 0 \n"
    "Rss:                   8 kB\n"
    "Swap:                  4 kB\n"
    "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
    "Rss:                   0 kB\n"
    "7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n"
    "Rss:                  12 kB\n"
    "7fff00000000-7fff00021000 rw-p 00000000 00:00 0      [stack]\n"
    "Rss:                  16 kB\n";

TEST(Mappings, OfProcPidSmaps) {
  const std::vector<Mapping> mappings = ParseMappings(kSmaps);
  ASSERT_EQ(mappings.size(), 6u);
  EXPECT_EQ(mappings[0].name, "/usr/bin/program name");
  EXPECT_EQ(mappings[0].inode, 77u);
  EXPECT_TRUE(mappings[0].is_executable);
  EXPECT_FALSE(mappings[0].is_writable);
  EXPECT_EQ(mappings[0].proportional_bytes, 2048u);
  EXPECT_EQ(mappings[1].offset_bytes, 0x2000u);
  EXPECT_EQ(mappings[2].name, "");
  EXPECT_EQ(mappings[2].swapped_bytes, 4096u);
  EXPECT_FALSE(mappings[3].is_readable);
  EXPECT_EQ(SumOf(mappings).resident_bytes, 48u * 1024);
}

TEST(Mappings, LinesOfUnknownFormsAreLeftOut) {
  EXPECT_TRUE(ParseMappings("").empty());
  EXPECT_TRUE(ParseMappings("\n\n7f00\n7f00-\n7f00-7f10 rw\n").empty());
  const auto mappings = ParseMappings(
      "2000-1000 rw-p 0 0:0 0\nRss: 4 kB\n"  // ends before it begins: its sums are nobody's
      "1000-2000 rw-p 0 0:0 0\nRss: 99999999999999999999 kB\nPss: x kB\n"
      "1800-3000 rw-p 0 0:0 0\nRss: 8 kB\n");
  ASSERT_EQ(mappings.size(), 1u);
  EXPECT_EQ(mappings[0].begin, 0x1000u);
  EXPECT_EQ(mappings[0].resident_bytes, 0u);
}

uint64_t BytesOf(const Account& account, const std::string& id) {
  for (const Row& row : account.rows) {
    if (row.id == id) return row.resident_bytes;
  }
  return 0;
}

TEST(Account, KindsOfMappings) {
  Facts facts;
  facts.resident_bytes = [](uint64_t, uint64_t) { return 0; };
  facts.stack_bytes = 8 << 20;
  const Account account = MakeAccount(ParseMappings(kSmaps), facts);
  EXPECT_EQ(BytesOf(account, "module_code"), 8192u);
  EXPECT_EQ(BytesOf(account, "module_data"), 4096u + 8192u);  // with the zeroed part
  EXPECT_EQ(BytesOf(account, "stacks"), 12u * 1024);          // by the guard below
  EXPECT_EQ(BytesOf(account, "main_stack"), 16u * 1024);
  EXPECT_EQ(account.rows.size(), 4u);
}

// No file has the pages that were written with MAP_PRIVATE: advice for mapped files loses them.
TEST(Account, PagesOfMappedFilesThatWereWrittenAreApart) {
  Facts facts;
  facts.resident_bytes = [](uint64_t, uint64_t) { return 0; };
  const Account account = MakeAccount(ParseMappings("7f0000000000-7f0000010000 rw-p 00000000 08:01 "
                                                    "9     /data/table\n"
                                                    "Rss:                  60 kB\n"
                                                    "Anonymous:            50 kB\n"),
                                      facts);
  EXPECT_EQ(BytesOf(account, "files"), 10u * 1024);
  EXPECT_EQ(BytesOf(account, "private_file_pages"), 50u * 1024);
  EXPECT_EQ(account.rows.size(), 2u);
}

// Allocators put guards below their memory, too.
TEST(Account, StacksHaveTheSizeOfKnownOnes) {
  const auto mappings = ParseMappings(
      "10000-11000 ---p 0 0:0 0\n11000-31000 rw-p 0 0:0 0\nRss: 4 kB\n"
      "40000-41000 ---p 0 0:0 0\n41000-61000 rw-p 0 0:0 0\nRss: 8 kB\n"
      "70000-71000 ---p 0 0:0 0\n71000-81000 rw-p 0 0:0 0\nRss: 16 kB\n");
  Facts facts;
  facts.resident_bytes = [](uint64_t, uint64_t) { return 0; };
  EXPECT_EQ(BytesOf(MakeAccount(mappings, facts), "stacks"), 0u);
  facts.stack_pointers = {0x12340};
  const Account account = MakeAccount(mappings, facts);
  EXPECT_EQ(BytesOf(account, "stacks"), 12u * 1024);
  EXPECT_EQ(BytesOf(account, "other_anonymous"), 16u * 1024);
}

// The program's memory was there before the stack, which it has mapped right below.
TEST(Account, AStackThatIsJoinedWithOtherMemoryDoesNotNameItAll) {
  const auto mappings = ParseMappings(
      "10000000-20000000 rw-p 0 0:0 0\nRss: 262144 kB\n"
      "30000000-30001000 ---p 0 0:0 0\n30001000-40000000 rw-p 0 0:0 0\nRss: 8 kB\n"
      "50000000-50010000 rw-p 0 0:0 0\nRss: 16 kB\n");
  Facts facts;
  facts.resident_bytes = [](uint64_t, uint64_t) { return 0; };
  facts.stack_pointers = {0x10001230, 0x3fffff00, 0x50001230};
  const Account account = MakeAccount(mappings, facts);
  EXPECT_EQ(BytesOf(account, "stacks"), 24u * 1024);
  EXPECT_EQ(BytesOf(account, "other_anonymous"), 262144u * 1024);
}

// A library without zeroed data was loaded right below memory that the program had mapped before,
// and one with a page of it.
TEST(Account, ZeroedDataOfAModuleEndsWithTheModule) {
  const auto mappings = ParseMappings(
      "10000-11000 r-xp 0 8:1 7 /lib/a.so\nRss: 4 kB\n11000-12000 rw-p 1000 8:1 7 /lib/a.so\n"
      "12000-22000 rw-p 0 0:0 0\nRss: 64 kB\n"
      "30000-31000 r-xp 0 8:1 8 /lib/b.so\n31000-32000 rw-p 1000 8:1 8 /lib/b.so\n"
      "32000-42000 rw-p 0 0:0 0\nRss: 60 kB\n"
      "50000-51000 r-xp 0 8:1 9 /lib/c.so\n51000-52000 rw-p 1000 8:1 9 /lib/c.so\n"
      "52000-53000 rw-p 0 0:0 0\nRss: 4 kB\n");
  Facts facts;
  facts.resident_bytes = [](uint64_t begin, uint64_t end) { return end - begin; };
  facts.modules = {{0x10000, 0x12000}, {0x30000, 0x33000}};
  const Account account = MakeAccount(mappings, facts);
  // The whole mapping counts as data of a module that is not known.
  EXPECT_EQ(BytesOf(account, "module_data"), 4096u + 4096);
  EXPECT_EQ(BytesOf(account, "other_anonymous"), 65536u + 61440 - 4096);
}

TEST(Account, RoomInHugePagesIsARowOfItsOwn) {
  const auto mappings = ParseMappings(
      "200000-400000 rw-p 0 0:0 0\nRss: 2048 kB\nAnonHugePages: 2048 kB\n"
      "400000-600000 ---p 0 0:0 0\n600000-610000 rw-p 0 0:0 0\nRss: 64 kB\n");
  Facts facts;
  facts.areas = {{0x200000, 0x400000, Use::kBlocks, 4096, 8192, 1, 0},
                 {0x600000, 0x610000, Use::kBlocks, 4096, 8192, 1, 0}};
  const Account account = MakeAccount(mappings, facts);
  EXPECT_EQ(BytesOf(account, "huge_room"), 0x200000u - 8192);
  EXPECT_EQ(BytesOf(account, "never_handed_out"), 65536u - 8192);
  EXPECT_EQ(SumOf(mappings).huge_bytes, 0x200000u);
}

// A page with live and free blocks, of which only a part is resident.
TEST(Account, BlocksOfPages) {
  const auto mappings = ParseMappings("10000-50000 rw-p 0 0:0 0\nRss: 128 kB\n");
  Facts facts;
  facts.areas = {{0x10000, 0x20000, Use::kBackend, 0, 0, 0, 0},
                 {0x20000, 0x30000, Use::kBlocks, 20000, 50000, 20, 0},
                 {0x30000, 0x40000, Use::kFreePages, 0, 0, 0, 0},
                 {0x40000, 0x50000, Use::kBlocks, 40000, 60000, 1, 0}};
  facts.resident_bytes = [](uint64_t begin, uint64_t) -> uint64_t {
    return begin == 0x10000 ? 4096 : begin == 0x20000 ? 65536 : begin == 0x30000 ? 40960 : 16384;
  };
  const Account account = MakeAccount(mappings, facts);
  EXPECT_EQ(BytesOf(account, "live"), 20000u + 16384);
  EXPECT_EQ(BytesOf(account, "free_in_pages"), 30000u);
  EXPECT_EQ(BytesOf(account, "never_handed_out"), 65536u - 50000);
  EXPECT_EQ(BytesOf(account, "free_pages"), 40960u);
  // The rest of the mapping belongs to the allocator, too.
  EXPECT_EQ(BytesOf(account, "allocator"), 131072u - 65536 - 40960 - 16384);
  for (const Row& row : account.rows) {
    if (row.id != "live") continue;
    EXPECT_EQ(row.untouched_bytes, 40000u - 16384);
    EXPECT_EQ(row.count, 21u);
  }
}

// Pages of zeroes that were only read are present, and in no sum.
TEST(Account, SurplusOfAMappingIsTakenFromTables) {
  const auto mappings = ParseMappings("10000-30000 rw-p 0 0:0 0\nRss: 64 kB\n");
  Facts facts;
  facts.areas = {{0x10000, 0x1c000, Use::kBlocks, 49152, 49152, 4, 0},
                 {0x1c000, 0x30000, Use::kTables, 0, 0, 0, 0}};
  facts.resident_bytes = [](uint64_t begin, uint64_t) { return begin == 0x10000 ? 49152 : 24576; };
  const Account account = MakeAccount(mappings, facts);
  EXPECT_EQ(BytesOf(account, "live"), 49152u);
  EXPECT_EQ(BytesOf(account, "tables"), 16384u);
}

// Whatever the process's memory says, and however it changed meanwhile.
TEST(Account, RowsAddUp) {
  std::mt19937_64 random(1);
  const auto below = [&random](uint64_t n) { return random() % n; };
  for (int run = 0; run < 2000; ++run) {
    std::vector<Mapping> mappings;
    for (uint64_t at = 0; at < 40;) {
      const uint64_t pages = 1 + below(8);
      Mapping mapping;
      mapping.begin = at * 4096;
      mapping.end = (at + pages) * 4096;
      mapping.is_readable = mapping.is_writable = below(4) != 0;
      mapping.is_executable = below(4) == 0;
      mapping.is_shared = below(4) == 0;
      mapping.inode = below(3) == 0 ? 1 + below(2) : 0;
      const char* const names[] = {"", "", "/lib/x.so", "[heap]", "[stack]", "[anon:x]", "[vdso]"};
      mapping.name = names[below(std::size(names))];
      mapping.resident_bytes = below(pages + 1) * 4096;
      mapping.anonymous_bytes = below(pages + 1) * 4096;
      mappings.push_back(mapping);
      at += pages + below(3);
    }
    Facts facts;
    for (uint64_t at = below(5); at < 40;) {
      const uint64_t pages = 1 + below(6);
      facts.areas.push_back({at * 4096, (at + pages) * 4096, static_cast<Use>(below(10)),
                             below(30000), below(30000), below(3), 0});
      at += pages + below(4);
    }
    facts.resident_bytes = [&](uint64_t begin, uint64_t end) {
      return below((end - begin) / 4096 + 1) * 4096;
    };
    for (uint64_t at = below(9); at < 40; at += 1 + below(9)) {
      facts.modules.push_back({at * 4096, (at + below(9)) * 4096});
      facts.stack_pointers.push_back(at * 4096);
    }
    const Account account = MakeAccount(mappings, facts);
    uint64_t sum = 0;
    for (const Row& row : account.rows) sum += row.resident_bytes;
    ASSERT_EQ(sum, SumOf(mappings).resident_bytes) << run;
    ASSERT_EQ(sum, account.totals.resident_bytes);
  }
}

TEST(Account, RoundingIsAPartOfLiveBlocks) {
  Account account;
  account.rows = {{"free_in_pages", "", 900, 0, 0, "", 0}, {"live", "", 1000, 0, 0, "", 0}};
  SplitLive(150, 0, "rounding", &account);
  EXPECT_EQ(BytesOf(account, "live"), 850u);
  EXPECT_EQ(BytesOf(account, "rounding"), 150u);
  EXPECT_EQ(account.rows.front().id, "free_in_pages");  // the largest now
  SplitLive(5000, 0, "rounding", &account);
  EXPECT_EQ(BytesOf(account, "live"), 0u);
  SplitLive(-1, 0, "rounding", &account);
  EXPECT_EQ(account.rows.size(), 4u);
}

// 200 MiB in a class of 256 MiB: nobody touches what was not asked for.
TEST(Account, RoundingOfLargeBlocksIsNotResident) {
  Account account;
  account.rows = {{"live", "", 200, 60, 0, "", 0}};
  SplitLive(58, 56, "rounding", &account);
  EXPECT_EQ(BytesOf(account, "rounding"), 2u);
  EXPECT_EQ(BytesOf(account, "live"), 198u);
  EXPECT_EQ(account.rows.front().untouched_bytes, 4u);  // asked for, and never written
  account.rows = {{"live", "", 200, 60, 0, "", 0}};
  SplitLive(56, 100, "rounding", &account);
  EXPECT_EQ(account.rows.size(), 1u);
  EXPECT_EQ(account.rows.front().resident_bytes, 200u);
}

}  // namespace
}  // namespace allomon::explain
