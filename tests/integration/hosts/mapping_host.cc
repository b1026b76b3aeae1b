// Maps memory itself, for mmap_test.py.  It is not built for Allomon: the library is preloaded.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

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

// External linkage, so that a profile has names for the functions.  Each calls mmap directly, since
// Map() is inlined.
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

__attribute__((noinline)) void MapFailed() {
  char* const start = Map(2);
  for (int i = 0; i < 1000; ++i) {
    Check(mremap(start, 2 * kMiB, size_t{1} << 60, MREMAP_MAYMOVE) == MAP_FAILED);
  }
}

__attribute__((noinline)) void MapRefused() {
  char* const start = Map(4);
  Check(munmap(start + 1, 4 * kMiB - 1) != 0);
}

// Puts a page without access in the middle, as some allocators do.
__attribute__((noinline)) void MapHoled() {
  char* const start = Map(8);
  Check(Map(1, PROT_NONE, kMemory | MAP_FIXED, start + 4 * kMiB) == start + 4 * kMiB);
  Check(munmap(start + 2 * kMiB, kMiB) == 0);
}

__attribute__((noinline)) void MapHoledAndGone() {
  char* const start = Map(8);
  Check(munmap(start + 2 * kMiB, kMiB) == 0);
  Check(munmap(start + 5 * kMiB, 3 * kMiB) == 0);
  Check(munmap(start, 5 * kMiB) == 0);
}

__attribute__((noinline)) void MapPartlyMoved() {
  char* const start = Map(6);
  char* const place = Map(2, PROT_NONE);
  Check(mremap(start + 2 * kMiB, 2 * kMiB, 2 * kMiB, MREMAP_MAYMOVE | MREMAP_FIXED, place) ==
        place);
}

// Unmaps less than the last page, which is unmapped as a whole.
__attribute__((noinline)) void MapOdd() {
  void* const start = mmap(nullptr, kMiB - 100, PROT_READ | PROT_WRITE, kMemory, -1, 0);
  Check(start != MAP_FAILED && munmap(start, kMiB - 4000) == 0);
}

// None of these is the host's own memory, so their moves must not be counted.
__attribute__((noinline)) void MapOthersMoved() {
  const int fd = open("/proc/self/exe", O_RDONLY);
  void* file = mmap(nullptr, kMiB, PROT_READ, MAP_PRIVATE, fd, 0);
  void* shared = Map(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
  void* reserved = Map(1, PROT_NONE);
  Check(file != MAP_FAILED);
  for (size_t mib = 1; mib < 20; ++mib) {
    for (void** const start : {&file, &shared, &reserved}) {
      *start = mremap(*start, mib * kMiB, (mib + 1) * kMiB, MREMAP_MAYMOVE);
      Check(*start != MAP_FAILED);
    }
  }
  Check(mremap(shared, 0, kMiB, MREMAP_MAYMOVE) != MAP_FAILED);
}

// Memory at a place where a file was.
__attribute__((noinline)) void MapInPlaceOfFile() {
  const int fd = open("/proc/self/exe", O_RDONLY);
  void* const file = mmap(nullptr, 2 * kMiB, PROT_READ, MAP_PRIVATE, fd, 0);
  Check(file != MAP_FAILED);
  char* const start = Map(2, PROT_READ | PROT_WRITE, kMemory | MAP_FIXED, file);
  Check(mremap(start, 2 * kMiB, 3 * kMiB, MREMAP_MAYMOVE) != MAP_FAILED);
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
  MapFailed();
  MapRefused();
  MapHoled();
  MapHoledAndGone();
  MapPartlyMoved();
  MapOdd();
  MapOthersMoved();
  MapInPlaceOfFile();
  if (argc > 1) {
    const pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, nullptr, 0);
  }
}
