// A host with large blocks, for large_blocks_test.py.  Its argument names one of the cases below.
// Each prints the resident memory that it added, in KiB, or prints an error and fails.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

#define CHECK(condition)                                              \
  if (!(condition)) {                                                 \
    fprintf(stderr, "line %d: not true: " #condition "\n", __LINE__); \
    exit(1);                                                          \
  }

// Reads the resident set from the kernel's table of pages: /proc/self/statm may lag by 64 pages.
long ResidentKiB() {
  char text[8192];
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  long kib = 0;
  while (fgets(text, sizeof(text), file) != nullptr && sscanf(text, "Rss: %ld", &kib) != 1) {
  }
  fclose(file);
  return kib;
}

// Checks a byte in each `step`-th page.
void ExpectBytes(const char* block, size_t size_bytes, char expected, size_t step = 64) {
  for (size_t i = 0; i < size_bytes; i += step * 4096) CHECK(block[i] == expected);
  CHECK(block[size_bytes - 1] == expected);
}

void SparseCalloc(size_t each_bytes) {
  for (size_t taken = 0; taken < 1000 * kMiB; taken += each_bytes) {
    volatile char* block = static_cast<char*>(calloc(1, each_bytes));
    CHECK(block != nullptr && block[each_bytes / 2] == 0);
  }
}

// Blocks that were full of data come back as zero, whatever their source.
void CallocAfterUse() {
  for (const size_t bytes : {300 * size_t{1024}, kMiB + 100, 9 * kMiB, 17 * kMiB, 70 * kMiB}) {
    for (int round = 0; round < 4; ++round) {
      char* dirty = static_cast<char*>(malloc(bytes));
      memset(dirty + (round % 2) * 5000, 7, bytes - 10000);
      free(dirty);
      char* block = static_cast<char*>(calloc(bytes / 4, 4));
      for (size_t i = 0; i < bytes / 4 * 4; ++i) CHECK(block[i] == 0);
      free(block);
    }
  }
}

void Realloc() {
  char* block = static_cast<char*>(malloc(1024 * kMiB));
  block[0] = 1;
  block[1000 * kMiB] = 2;
  for (const size_t mebibytes : {2048, 900, 1500, 40, 1, 30, 3000}) {
    block = static_cast<char*>(realloc(block, mebibytes * kMiB));
    CHECK(block != nullptr && block[0] == 1);
    CHECK(malloc_usable_size(block) >= mebibytes * kMiB);
    if (mebibytes == 2048) CHECK(block[1000 * kMiB] == 2);
    block[mebibytes * kMiB - 1] = 3;
  }
  block = static_cast<char*>(realloc(block, 100));
  CHECK(block[0] == 1);
  free(block);
}

// The kernel moves no pages of a block that is two mappings.
void ReallocOfSplit() {
  char* block = static_cast<char*>(malloc(40 * kMiB));
  memset(block, 5, 40 * kMiB);
  const uintptr_t middle = (reinterpret_cast<uintptr_t>(block) + 20 * kMiB) & ~uintptr_t{4095};
  CHECK(madvise(reinterpret_cast<void*>(middle), kMiB, MADV_DONTFORK) == 0);
  for (const size_t mebibytes : {200, 60}) {
    block = static_cast<char*>(realloc(block, mebibytes * kMiB));
    ExpectBytes(block, 40 * kMiB, 5);
  }
  free(block);
}

void Aligned() {
  for (const size_t alignment : {size_t{64}, size_t{4096}, 2 * kMiB, 64 * kMiB}) {
    char* block = static_cast<char*>(aligned_alloc(alignment, 50 * kMiB));
    CHECK(block != nullptr && reinterpret_cast<uintptr_t>(block) % alignment == 0);
    CHECK(malloc_usable_size(block) >= 50 * kMiB);
    block[50 * kMiB - 1] = 4;
    block = static_cast<char*>(realloc(block, 80 * kMiB));
    CHECK(block[50 * kMiB - 1] == 4);
    free(block);
  }
}

// vm.overcommit_memory.
bool RefusesNothing() {
  int mode = 0;
  FILE* file = fopen("/proc/sys/vm/overcommit_memory", "r");
  if (file == nullptr || fscanf(file, "%d", &mode) != 1) mode = 1;
  if (file != nullptr) fclose(file);
  return mode == 1;
}

void Refused() {
  errno = 0;
  volatile bool refused = malloc(size_t{1} << 47) == nullptr;
  CHECK(refused && errno == ENOMEM);
  char* block = static_cast<char*>(malloc(20 * kMiB));
  memset(block, 6, 20 * kMiB);
  errno = 0;
  refused = realloc(block, size_t{1} << 47) == nullptr;
  CHECK(refused && errno == ENOMEM);
  ExpectBytes(block, 20 * kMiB, 6);
  // Such an obvious overcommitment is refused, unless the machine is configured to refuse nothing.
  const size_t machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * 4096;
  refused = RefusesNothing() || malloc(machine * 64) == nullptr;
  CHECK(refused);
  const rlimit limit = {400 * kMiB, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  refused = malloc(500 * kMiB) == nullptr;
  CHECK(refused);
  refused = realloc(block, 500 * kMiB) == nullptr;
  CHECK(refused);
  ExpectBytes(block, 20 * kMiB, 6);
  free(block);
}

void TakeAndMove(unsigned seed) {
  std::vector<char*> blocks(6);
  for (int i = 0; i < 150; ++i) {
    const size_t at = rand_r(&seed) % blocks.size();
    const size_t bytes = (size_t{1} + rand_r(&seed) % 60) * kMiB;
    char* block = static_cast<char*>(realloc(blocks[at], bytes));
    CHECK(block != nullptr);
    if (blocks[at] != nullptr) CHECK(block[0] == static_cast<char>(at));
    block[0] = static_cast<char>(at);
    block[bytes - 1] = 1;
    blocks[at] = block;
    if (i % 7 == 0) {
      free(block);
      blocks[at] = nullptr;
    }
  }
  for (char* block : blocks) free(block);
}

void Threads() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back(TakeAndMove, i + 1);
  for (std::thread& thread : threads) thread.join();
}

void Fork() {
  char* block = static_cast<char*>(malloc(30 * kMiB));
  memset(block, 8, 30 * kMiB);
  const pid_t child = fork();
  if (child == 0) {
    block = static_cast<char*>(realloc(block, 100 * kMiB));
    ExpectBytes(block, 30 * kMiB, 8);
    free(block);
    Threads();
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  ExpectBytes(block, 30 * kMiB, 8);
  free(block);
}

void Run(const std::string& name) {
  if (name == "small") return SparseCalloc(kMiB);
  if (name == "medium") return SparseCalloc(10 * kMiB);
  if (name == "large") return SparseCalloc(100 * kMiB);
  if (name == "huge") return SparseCalloc(1000 * kMiB);
  if (name == "after_use") return CallocAfterUse();
  if (name == "realloc") return Realloc();
  if (name == "split") return ReallocOfSplit();
  if (name == "aligned") return Aligned();
  if (name == "refused") return Refused();
  if (name == "threads") return Threads();
  if (name == "fork") return Fork();
  CHECK(!"a case");
}

}  // namespace

int main(int, char** argv) {
  const long before = ResidentKiB();
  Run(argv[1]);
  printf("%ld\n", ResidentKiB() - before);
}
