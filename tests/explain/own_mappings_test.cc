#include "tracker/base/own_mappings.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tracker/formats/process_map.h"

namespace allomon::internal {
namespace {

static_assert(static_cast<uint64_t>(MappingUse::kTables) ==
              static_cast<uint64_t>(process_map::Use::kTables));
static_assert(static_cast<uint64_t>(MappingUse::kGuard) ==
              static_cast<uint64_t>(process_map::Use::kGuard));

const void* AddressOf(uint64_t address) { return reinterpret_cast<const void*>(address); }

bool IsListed(uint64_t address) {
  for (const OwnMapping& entry : own_mappings.entries) {
    if (entry.begin == address) return true;
  }
  return false;
}

TEST(OwnMappings, AreListedUntilTheyAreForgotten) {
  NoteMapping(AddressOf(0x10000), 8192, MappingUse::kGuard);
  EXPECT_TRUE(IsListed(0x10000));
  ForgetMapping(AddressOf(0x20000));  // never noted
  ForgetMapping(AddressOf(0x10000));
  EXPECT_FALSE(IsListed(0x10000));
}

// Threads that note and forget never lose an entry: the list does not fill up.
TEST(OwnMappings, EntriesAreUsedAgain) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRounds = 4 * OwnMappings::kRoom;
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([t] {
      for (uint64_t round = 0; round < kRounds; ++round) {
        const void* const address = AddressOf((t << 32) + (round << 12));
        NoteMapping(address, 4096, MappingUse::kTables);
        ForgetMapping(address);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(own_mappings.count.load(), 1000u);
  for (const OwnMapping& entry : own_mappings.entries) EXPECT_LT(entry.begin.load(), 4096u);
}

TEST(OwnMappings, AFullListDropsMappings) {
  for (uint64_t i = 0; i < OwnMappings::kRoom + 100; ++i) {
    NoteMapping(AddressOf((i + 1) << 12), 4096, MappingUse::kTables);
  }
  EXPECT_FALSE(IsListed((OwnMappings::kRoom + 100) << 12));
  ForgetMapping(AddressOf(5 << 12));
  NoteMapping(AddressOf(uint64_t{1} << 40), 4096, MappingUse::kTables);
  EXPECT_TRUE(IsListed(uint64_t{1} << 40));
}

}  // namespace
}  // namespace allomon::internal
