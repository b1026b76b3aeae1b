// A host that locks its memory, and whose threads allocate after that: for locking_test.py.  It has
// a mapping and a block of its own, whose pages it did not touch before.  The argument is
// mlockall's.
//
// Prints "refused", or the resident KiB of the process, those of the mapping, and the locked ones.
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMappedBytes = size_t{4} << 20;
constexpr int kThreads = 4;

long Field(const char* name) {
  FILE* const file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (fgets(line, sizeof(line), file) != nullptr) {
    if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), ": %ld", &kib);
  }
  fclose(file);
  return kib;
}

void Allocate() {
  std::vector<char*> blocks;
  for (size_t i = 0; i < 10'000; ++i) {
    blocks.push_back(static_cast<char*>(malloc(1 + i % 500)));
    blocks.back()[0] = 1;
  }
  for (char* block : blocks) free(block);
}

long ResidentKiB(const char* pages) {
  std::vector<unsigned char> is_resident(kMappedBytes / 4096);
  mincore(const_cast<char*>(pages), kMappedBytes, is_resident.data());
  long kib = 0;
  for (const unsigned char page : is_resident) kib += (page & 1) * 4;
  return kib;
}

}  // namespace

int main(int, char** argv) {
  Allocate();
  void* const pages =
      mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mlockall(atoi(argv[1])) != 0) {
    puts("refused");
    return 0;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) {
    pthread_create(
        &thread, &attributes, [](void*) -> void* { return Allocate(), nullptr; }, nullptr);
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  printf("%ld %ld %ld\n", Field("VmRSS"), ResidentKiB(static_cast<char*>(pages)), Field("VmLck"));
}
