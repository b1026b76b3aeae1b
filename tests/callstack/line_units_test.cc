// The lines of a few addresses cost the reading of a few units, and equal the lines that all units
// would give.
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/elf_functions.h"
#include "tracker/symbols/line_table.h"

namespace allomon::internal {
namespace {

std::vector<uint64_t> FunctionsOf(const ElfFile& file) {
  std::vector<uint64_t> starts;
  ForEachFunction(file, [&starts](const Elf64_Sym& symbol, std::string_view) {
    starts.push_back(symbol.st_value);
  });
  return starts;
}

// Returns this program as clang++ would have made it: no unit says which code it has.
std::unique_ptr<ElfFile> WithoutIndex() {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/silent";
  // The shell's /proc/self is its own.
  const std::string own = "/proc/" + std::to_string(getpid()) + "/exe ";
  const int status = system(("objcopy --remove-section=.debug_aranges " + own + path).c_str());
  return status == 0 ? ElfFile::Open(path) : nullptr;
}

TEST(LineUnits, AreFoundByTheIndexAsWithoutIt) {
  const std::unique_ptr<ElfFile> file = ElfFile::Open("/proc/self/exe");
  const std::unique_ptr<ElfFile> silent = WithoutIndex();
  ASSERT_NE(silent, nullptr);
  LineTable by_index(*file);
  LineTable by_all(*silent);
  int known = 0;
  for (const uint64_t start : FunctionsOf(*file)) {
    for (const uint64_t address : {start, start + 5}) {
      const std::optional<SourceLine> found = by_index.Find(address);
      const std::optional<SourceLine> expected = by_all.Find(address);
      ASSERT_EQ(found.has_value(), expected.has_value()) << std::hex << address;
      if (!found) continue;
      ++known;
      EXPECT_EQ(found->file, expected->file) << std::hex << address;
      EXPECT_EQ(found->line, expected->line) << std::hex << address;
    }
  }
  EXPECT_GT(known, 50);
}

// Returns the difference between an address in the process and in the file.
uintptr_t LoadBias() {
  uintptr_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the executable comes first
      },
      &bias);
  return bias;
}

TEST(LineUnits, OneAddressReadsOneUnit) {
  const std::unique_ptr<ElfFile> file = ElfFile::Open("/proc/self/exe");
  if (!file->FindSection(".debug_aranges")) GTEST_SKIP() << "this compiler writes no index";
  LineTable lines(*file);
  ASSERT_TRUE(lines.Find(reinterpret_cast<uintptr_t>(&WithoutIndex) - LoadBias()));
  EXPECT_EQ(lines.UnitsReadForTesting(), 1u);
}

}  // namespace
}  // namespace allomon::internal
