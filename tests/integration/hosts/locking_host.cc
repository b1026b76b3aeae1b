// A host that locks its memory, and whose threads allocate after that: for locking_test.py.  It has
// a mapping and a block of its own, whose pages it did not touch before.  The first argument is
// mlockall's.  The second is "unlocked" (munlockall follows), "forked" (a child goes on), or
// "ended" (all is done once the first thread has ended).
//
// Prints "refused", or the resident KiB of the process, those of the mapping, and the locked ones.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMappedBytes = size_t{4} << 20;
constexpr int kThreads = 4;

long Field(const char* name) {
  FILE* const file = fopen("/proc/thread-self/status", "r");
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

// Not touched.
void AllocateMuch() {
  constexpr size_t kBlockBytes = size_t{8} << 20;
  for (int i = 0; i < 16; ++i) {
    void* volatile block = malloc(kBlockBytes);
    static_cast<void>(block);
  }
}

void AwaitEndOfFirstThread() {
  for (bool is_there = true; is_there;) {
    FILE* const maps = fopen("/proc/self/maps", "r");
    is_there = fgetc(maps) != EOF;
    fclose(maps);
  }
}

int Run(int flags, const char* how) {
  void* const pages =
      mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mlockall(flags) != 0) {
    puts("refused");
    return 0;
  }
  if (strcmp(how, "unlocked") == 0 && munlockall() != 0) return 2;
  if (strcmp(how, "forked") == 0) {
    if (const pid_t child = fork(); child != 0) return waitpid(child, nullptr, 0) == child ? 0 : 3;
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
  if (strcmp(how, "unlocked") == 0 || strcmp(how, "forked") == 0) AllocateMuch();
  printf("%ld %ld %ld\n", Field("VmRSS"), ResidentKiB(static_cast<char*>(pages)), Field("VmLck"));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Allocate();
  const int flags = atoi(argv[1]);
  if (argc < 3) return Run(flags, "");
  if (strcmp(argv[2], "ended") != 0) return Run(flags, argv[2]);
  std::thread([flags] {
    AwaitEndOfFirstThread();
    exit(Run(flags, ""));
  }).detach();
  pthread_exit(nullptr);
}
