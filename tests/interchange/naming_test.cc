// Addresses of a program get the names of its functions; this test uses its own functions.
#include "tools/load/naming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>

#include "tests/interchange/example_profile.h"
#include "tools/load/import.h"

extern "C" __attribute__((noinline)) void* AllomonNamingTestFunction(size_t bytes);
void* AllomonNamingTestFunction(size_t bytes) { return malloc(bytes + 1); }

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using ::testing::HasSubstr;

// Returns the mapping of this program's code.
heap::Mapping OwnMapping() {
  heap::Mapping mapping;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* mapping = static_cast<heap::Mapping*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
          mapping->begin = info->dlpi_addr + header.p_vaddr;
          mapping->end = mapping->begin + header.p_memsz;
          mapping->file_offset = header.p_offset;
        }
        return 1;  // the first is the program
      },
      &mapping);
  mapping.path = std::filesystem::read_symlink("/proc/self/exe");
  return mapping;
}

HeapProfile OwnProfile() {
  HeapProfile profile;
  profile.mappings.push_back(OwnMapping());
  profile.locations.emplace_back();
  profile.locations[0].address = reinterpret_cast<uint64_t>(&AllomonNamingTestFunction) + 4;
  profile.locations[0].mapping = 0;
  profile.samples.emplace_back();
  profile.samples[0].stack = {0};
  profile.samples[0][Metric::kLive] = {1, 100};
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  return profile;
}

TEST(NamingTest, FunctionsOfARunningProgramAreFound) {
  HeapProfile profile = OwnProfile();
  NameLocations({}, Unidentified::kNameAsItIs, &profile);
  ASSERT_FALSE(profile.locations[0].lines.empty());
  EXPECT_EQ(profile.functions[profile.locations[0].lines.back().function].name,
            "AllomonNamingTestFunction");
  ASSERT_EQ(profile.notes.size(), 1u);
  EXPECT_THAT(profile.notes[0], HasSubstr("no build ids"));
}

TEST(NamingTest, NamesSurviveHeapV2) {
  const HeapProfile profile = OwnProfile();
  auto back = ImportHeapV2(testing::Export("heap_v2", profile, Metric::kLive));
  ASSERT_TRUE(back.ok()) << back.status();
  NameLocations({}, Unidentified::kNameAsItIs, &*back);
  ASSERT_EQ(back->functions.size(), 1u);
  EXPECT_EQ(back->functions[0].name, "AllomonNamingTestFunction");
}

TEST(NamingTest, AnotherBuildNamesNothing) {
  HeapProfile profile = OwnProfile();
  profile.mappings[0].build_id = "0123";
  NameLocations({}, Unidentified::kNameAsItIs, &profile);
  EXPECT_TRUE(profile.locations[0].lines.empty());
  ASSERT_EQ(profile.notes.size(), 1u);
  EXPECT_THAT(profile.notes[0], HasSubstr("another build"));
}

TEST(NamingTest, FilesThatAreGoneOrNoProgramsNameNothing) {
  for (const char* path : {"/none", "/dev/zero", "/etc/passwd", "/", "[vdso]", ""}) {
    HeapProfile profile = OwnProfile();
    profile.mappings[0].path = path;
    NameLocations({}, Unidentified::kNameAsItIs, &profile);
    EXPECT_TRUE(profile.locations[0].lines.empty());
    EXPECT_EQ(profile.notes.size(), path[0] == '/' ? 1u : 0u) << path;
  }
}

// The C library: the start of its file, its code, and its path.
struct Library {
  uint64_t bias = 0;
  heap::Mapping code;
};

Library CLibrary() {
  Library library;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* library = static_cast<Library*>(data);
        if (std::string(info->dlpi_name).find("/libc.so") == std::string::npos) return 0;
        library->bias = info->dlpi_addr;
        library->code.path = info->dlpi_name;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
          library->code.begin = info->dlpi_addr + header.p_vaddr;
          library->code.end = library->code.begin + header.p_memsz;
          library->code.file_offset = header.p_offset;
        }
        return 1;
      },
      &library);
  return library;
}

// Recordings have a mapping for a whole file, from its first loaded part on.
TEST(NamingTest, MappingsOfWholeFilesBecomeThoseOfTheirCode) {
  const Library library = CLibrary();
  ASSERT_GT(library.code.file_offset, 0u);
  HeapProfile profile;
  profile.mappings = {library.code};
  profile.mappings[0].begin = library.bias;
  profile.mappings[0].end += 100000;
  profile.mappings[0].file_offset = 0;
  for (int i = 0; i < 2; ++i) {  // the second time nothing is left to do
    NarrowMappings({}, &profile);
    EXPECT_EQ(profile.mappings[0].begin, library.code.begin);
    EXPECT_EQ(profile.mappings[0].end, library.code.end);
    EXPECT_EQ(profile.mappings[0].file_offset, library.code.file_offset);
  }
}

TEST(NamingTest, NamesThatAreThereStay) {
  HeapProfile profile = testing::OddProfile();
  const size_t functions = profile.functions.size();
  NameLocations({}, Unidentified::kNameAsItIs, &profile);
  EXPECT_EQ(profile.functions.size(), functions);
  EXPECT_EQ(profile.locations[0].lines.size(), 1u);
}

}  // namespace
}  // namespace allomon::interchange
