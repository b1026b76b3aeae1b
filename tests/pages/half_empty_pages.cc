// Keeps a known share of the blocks of each page, for pages_test.py.
//
//   half_empty_pages [PAGES]   prints the bytes that each function's blocks hold, and waits
//
// Each function has a size of its own, so its blocks share their pages with no others.  All its
// pages are full at first, and then have the same share of live blocks.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

constexpr uintptr_t kPageBytes = 64 << 10;          // of mimalloc's small blocks
constexpr uintptr_t kSampled = uintptr_t{1} << 46;  // blocks above lie on no page

// Keeps `keep` of `of` blocks of each page, and frees the others.
struct Kind {
  const char* function;
  void* (*allocate)(size_t bytes);
  size_t bytes;
  int keep, of;
};

volatile size_t sink;

}  // namespace

extern "C" {
#define ALLOCATE(NAME)                                           \
  __attribute__((noinline)) void* NAME(size_t bytes) {           \
    void* const block = malloc(bytes);                           \
    sink = bytes; /* so that this is no call in tail position */ \
    return block;                                                \
  }
ALLOCATE(KeepOneInTen)
ALLOCATE(KeepOneInFour)
ALLOCATE(KeepHalf)
ALLOCATE(KeepMost)
ALLOCATE(KeepAll)
}

namespace {

constexpr Kind kKinds[] = {{"KeepOneInTen", KeepOneInTen, 48, 1, 10},
                           {"KeepOneInFour", KeepOneInFour, 96, 1, 4},
                           {"KeepHalf", KeepHalf, 640, 1, 2},
                           {"KeepMost", KeepMost, 320, 9, 10},
                           {"KeepAll", KeepAll, 192, 1, 1}};

std::vector<std::vector<void*>> kept;

using Pages = std::map<uintptr_t, std::vector<void*>>;

// Returns full pages: the block that would begin another one is freed.
Pages FullPages(const Kind& kind, size_t count) {
  Pages pages;
  for (;;) {
    void* const block = kind.allocate(kind.bytes);
    const uintptr_t address = reinterpret_cast<uintptr_t>(block);
    const uintptr_t page = address >= kSampled ? 0 : address / kPageBytes;
    if (page != 0 && pages.count(page) == 0 && pages.size() - pages.count(0) == count) {
      free(block);
      return pages;
    }
    pages[page].push_back(block);
  }
}

// Returns the bytes of freed blocks in pages that have live ones.
size_t Fill(const Kind& kind, size_t count) {
  std::vector<void*>& live = kept.emplace_back();
  size_t free_bytes = 0;
  for (const auto& [page, blocks] : FullPages(kind, count)) {
    size_t freed = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const int place = static_cast<int>(i % static_cast<size_t>(kind.of));
      if (place < kind.keep) {
        live.push_back(blocks[i]);
      } else {
        free(blocks[i]);
        ++freed;
      }
    }
    if (page != 0) free_bytes += freed * kind.bytes;
  }
  return free_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t pages = argc > 1 ? strtoul(argv[1], nullptr, 10) : 64;
  kept.reserve(sizeof(kKinds) / sizeof(kKinds[0]));
  for (const Kind& kind : kKinds) {
    const size_t free_bytes = Fill(kind, pages);
    printf("%s %zu\n", kind.function, free_bytes);
  }
  printf("ready\n");
  fflush(stdout);
  char line[64];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 1;
  for (const std::vector<void*>& blocks : kept) {
    for (void* block : blocks) free(block);
  }
  printf("done\n");
  return 0;
}
