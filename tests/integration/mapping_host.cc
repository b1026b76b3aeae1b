// Maps memory itself, for mmap_test.py.  It is not built for Allomon: the library is preloaded.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr int kMemory = MAP_PRIVATE | MAP_ANONYMOUS;

__attribute__((always_inline)) inline char* Map(size_t mib, int protection = PROT_READ | PROT_WRITE,
                                                int flags = kMemory, void* place = nullptr) {
  void* const start = mmap(place, mib * kMiB, protection, flags, -1, 0);
  if (start == MAP_FAILED) abort();
  return static_cast<char*>(start);
}

void Check(bool ok) {
  if (!ok) abort();
}

}  // namespace

// The functions have external linkage, so that a profile has names for them.  Each calls mmap by
// itself: Map() is inlined.
extern "C" {

__attribute__((noinline)) void MapKept() { memset(Map(5), 1, 5 * kMiB); }

__attribute__((noinline)) void MapTrimmed() {
  char* const start = Map(8);
  Check(munmap(start, 2 * kMiB) == 0);
  Check(munmap(start + 7 * kMiB, kMiB) == 0);
}

__attribute__((noinline)) void MapReleased() {
  for (int i = 0; i < 100; ++i) Check(munmap(Map(1), kMiB) == 0);
}

__attribute__((noinline)) void MapReserved() { Map(1000, PROT_NONE); }

__attribute__((noinline)) void MapMoved() {
  char* const start = Map(1);
  Check(mremap(start, kMiB, 4 * kMiB, MREMAP_MAYMOVE) != MAP_FAILED);
}

__attribute__((noinline)) void MapReplaced() {
  char* const start = Map(3);
  Check(Map(1, PROT_READ | PROT_WRITE, kMemory | MAP_FIXED, start) == start);
}

__attribute__((noinline)) void MapOfFile() {
  const int fd = open("/proc/self/exe", O_RDONLY);
  Check(mmap(nullptr, kMiB, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

}  // extern "C"

int main(int argc, char**) {
  MapKept();
  MapTrimmed();
  MapReleased();
  MapReserved();
  MapMoved();
  MapReplaced();
  MapOfFile();
  if (argc > 1) {
    const pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, nullptr, 0);
  }
}
