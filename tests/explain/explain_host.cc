// Makes memory of each kind, in known amounts that differ, says "ready" and waits for a line.  The
// amounts are those of explain_test.py.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr int kBlocks = 40000;
constexpr size_t kBlockBytes = 1000;

void* g_blocks[kBlocks];
pthread_barrier_t g_ready;

void Need(bool is_done, const char* what) {
  if (is_done) return;
  perror(what);
  exit(3);
}

char* Map(size_t size_bytes, int protection, int flags, int fd = -1) {
  void* const pages = mmap(nullptr, size_bytes, protection, flags, fd, 0);
  Need(pages != MAP_FAILED, "mmap");
  return static_cast<char*>(pages);
}

constexpr int kReadWrite = PROT_READ | PROT_WRITE;
constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// One block in four stays, so that no page of the heap gets free.
void MakeHoles() {
  for (void*& block : g_blocks) memset(block = malloc(kBlockBytes), 1, kBlockBytes);
  for (int i = 0; i < kBlocks; ++i) {
    if (i % 4 != 0) free(g_blocks[i]);
  }
}

// 64 MiB, of which 24 are written.
void MakeLargeBlock() {
  static char* volatile block;
  block = static_cast<char*>(malloc(64 * kMiB));
  memset(block, 1, 24 * kMiB);
}

// Each of three threads touches 1 MiB of its stack.
void* TouchStack(void*) {
  volatile char stack[kMiB];
  for (size_t i = 0; i < kMiB; i += 1024) stack[i] = 1;
  asm volatile("" : : "r"(stack) : "memory");
  pthread_barrier_wait(&g_ready);
  pause();
  return nullptr;
}

void StartThreads() {
  pthread_barrier_init(&g_ready, nullptr, 4);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    Need(pthread_create(&thread, nullptr, TouchStack, nullptr) == 0, "pthread_create");
  }
  pthread_barrier_wait(&g_ready);
}

void MakeMappings(const char* file) {
  memset(Map(9 * kMiB, kReadWrite, kAnonymous), 1, 9 * kMiB);
  memset(Map(2 * kMiB, kReadWrite | PROT_EXEC, kAnonymous), 1, 2 * kMiB);
  memset(Map(size_t{10240} * kMiB, kReadWrite, kAnonymous | MAP_NORESERVE), 1, kMiB / 2);

  const int shared = memfd_create("explained", 0);
  Need(shared >= 0 && ftruncate(shared, 5 * kMiB) == 0, "memfd_create");
  memset(Map(5 * kMiB, kReadWrite, MAP_SHARED, shared), 1, 5 * kMiB);

  const int fd = open(file, O_RDONLY);
  Need(fd >= 0, file);
  const char* const pages = Map(6 * kMiB, PROT_READ, MAP_PRIVATE, fd);
  static volatile char sum;
  for (size_t i = 0; i < 6 * kMiB; i += 1024) sum = static_cast<char>(sum + pages[i]);

  char* const end = static_cast<char*>(sbrk(7 * kMiB));
  Need(end != reinterpret_cast<char*>(-1), "sbrk");
  memset(end, 1, 7 * kMiB);
}

// Blocks for a time, so that a copy of the recording is made when all else is there.
void Churn() {
  for (int i = 0; i < 1300; ++i) {
    free(malloc(kBlockBytes));
    usleep(1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_copied = argc > 2;
  MakeHoles();
  if (!is_copied) MakeLargeBlock();
  StartThreads();
  MakeMappings(argv[1]);
  if (is_copied) Churn();
  const char ready[] = "ready\n";
  char line[16];
  return write(STDOUT_FILENO, ready, strlen(ready)) < 0 || read(STDIN_FILENO, line, 16) < 0;
}
