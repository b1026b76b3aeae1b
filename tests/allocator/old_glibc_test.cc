// FindLoadedObject() compared with the C library's own function, which it replaces in older ones.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "allocator/old_glibc/find_object.h"

namespace {

using allomon::internal::FindLoadedObject;
using allomon::internal::UnloadGuard;

std::string g_library;

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// For a program with gaps between its segments glibc reports only the code.
void ExpectSameExtent(const dl_find_object& found, const dl_find_object& expected,
                      bool is_program) {
  if (is_program) {
    EXPECT_LE(found.dlfo_map_start, expected.dlfo_map_start);
    EXPECT_GE(found.dlfo_map_end, expected.dlfo_map_end);
  } else {
    EXPECT_EQ(found.dlfo_map_start, expected.dlfo_map_start);
    EXPECT_EQ(found.dlfo_map_end, expected.dlfo_map_end);
  }
}

void ExpectSame(uintptr_t address) {
  dl_find_object expected = {}, found = {};
  const int status = _dl_find_object(reinterpret_cast<void*>(address), &expected);
  ASSERT_EQ(FindLoadedObject(address, &found), status) << std::hex << address;
  if (status != 0) return;
  EXPECT_EQ(found.dlfo_link_map, expected.dlfo_link_map);
  EXPECT_EQ(found.dlfo_eh_frame, expected.dlfo_eh_frame);
  ExpectSameExtent(found, expected, Address(expected.dlfo_link_map) == Address(_r_debug.r_map));
}

std::vector<uintptr_t> EdgesOfSegments() {
  std::vector<uintptr_t> edges;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          for (uintptr_t edge : {begin, begin + header.p_memsz / 2, begin + header.p_memsz - 1}) {
            static_cast<std::vector<uintptr_t>*>(to)->push_back(edge);
          }
        }
        return 0;
      },
      &edges);
  return edges;
}

TEST(FindLoadedObject, KnowsProgramLibrariesLoaderAndKernel) {
  const std::vector<uintptr_t> edges = EdgesOfSegments();
  EXPECT_GT(edges.size(), 12u);
  for (uintptr_t edge : edges) ExpectSame(edge);
}

TEST(FindLoadedObject, ElsewhereIsNoObject) {
  int on_stack = 0;
  const std::vector<int> on_heap(1);
  for (uintptr_t address : {uintptr_t{0}, uintptr_t{1}, Address(&on_stack), Address(&on_heap[0]),
                            uintptr_t{1} << 46, UINTPTR_MAX}) {
    dl_find_object found = {};
    EXPECT_EQ(FindLoadedObject(address, &found), -1) << std::hex << address;
  }
}

TEST(FindLoadedObject, LibraryComesAndGoes) {
  void* const library = dlopen(g_library.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const uintptr_t function = Address(dlsym(library, "PassingFunction"));
  ExpectSame(function);
  dl_find_object found = {};
  EXPECT_EQ(FindLoadedObject(function, &found), 0);
  dlclose(library);
  EXPECT_EQ(FindLoadedObject(function, &found), -1);
}

TEST(FindLoadedObject, FailsWhileGuarded) {
  const uintptr_t own = Address(reinterpret_cast<void*>(&FindLoadedObject));
  dl_find_object found = {};
  {
    const UnloadGuard guard;
    EXPECT_EQ(FindLoadedObject(own, &found), -1);
  }
  EXPECT_EQ(FindLoadedObject(own, &found), 0);
}

// Imitates malloc in one thread while another loads plugins.  The address sanitizer detects a read
// of memory that dlclose has freed.
TEST(FindLoadedObject, OtherThreadsMayLoadAndUnload) {
  std::atomic<bool> ends{false};
  std::thread loader([&] {
    for (int i = 0; i < 2000; ++i) {
      void* const library = dlopen(g_library.c_str(), RTLD_NOW);
      const UnloadGuard guard;
      dlclose(library);
    }
    ends = true;
  });
  const uintptr_t own = Address(reinterpret_cast<void*>(&FindLoadedObject));
  int found_times = 0, wrong = 0;
  while (!ends) {
    dl_find_object found = {};
    if (FindLoadedObject(own, &found) != 0) continue;
    ++found_times;
    wrong += Address(found.dlfo_map_start) > own || Address(found.dlfo_map_end) <= own;
  }
  loader.join();
  EXPECT_GT(found_times, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  g_library = std::string("./") + argv[argc - 1];
  return RUN_ALL_TESTS();
}
