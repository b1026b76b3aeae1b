// A host for preload_record_test.py: allocates blocks of 56 bytes, and ends as it is told.
//
//   allocating_host BLOCKS return|_exit|kill|abort|count|threads
//   allocating_host BLOCKS keep|filter|headless: blocks of 1,000 bytes, after a filter of system
//                                                calls; after the first thread has ended
//   allocating_host TIMES dlclose LIBRARY
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

void Allocate(long blocks) {
  for (long i = 0; i < blocks; ++i) {
    void* block = malloc(56);
    asm volatile("" : "+r"(block) : : "memory");
    free(block);
  }
}

// Touches blocks that are never freed.
void Keep(long blocks) {
  constexpr size_t kBytes = 1000;
  for (long i = 0; i < blocks; ++i) {
    void* block = malloc(kBytes);
    memset(block, 1, kBytes);
    asm volatile("" : "+r"(block) : : "memory");
  }
}

void KeepTwice(long blocks) {
  Keep(blocks);
  usleep(30'000);  // then the resident memory is read again
  Keep(1000);
}

// The kernel shows no memory in /proc/self once the first thread has ended.
[[noreturn]] void KeepWithoutTheFirstThread(long blocks) {
  std::thread([blocks] {
    for (char first = '1'; first != '0'; usleep(1000)) {
      FILE* const memory = fopen("/proc/self/statm", "r");
      if (memory == nullptr || fread(&first, 1, 1, memory) != 1) abort();
      fclose(memory);
    }
    KeepTwice(blocks);
    exit(0);
  }).detach();
  pthread_exit(nullptr);
}

// Reports the number of blocks by write(2), which allocates nothing.
void AllocateAndCount(long blocks) {
  for (long done = 0; done < blocks; done += 1000) {
    char line[32];
    const int length = snprintf(line, sizeof(line), "%ld\n", done);
    if (write(1, line, static_cast<size_t>(length)) != length) return;
    Allocate(1000);
  }
}

void AllocateInThreads(long blocks) {
  std::thread([blocks] {
    pthread_setname_np(pthread_self(), "by_itself");
    Allocate(blocks);
  }).join();
  std::thread([blocks] {
    prctl(PR_SET_NAME, "by_prctl");
    Allocate(blocks);
  }).join();
  int go[2];
  if (pipe(go) != 0) abort();
  std::thread named([blocks, &go] {
    char byte;
    if (read(go[0], &byte, 1) != 1) abort();
    Allocate(blocks);
  });
  pthread_setname_np(named.native_handle(), "by_creator");
  if (write(go[1], "x", 1) != 1) abort();
  named.join();
}

void LoadAndUnload(long times, const char* path) {
  for (long i = 0; i < times; ++i) {
    void* const library = dlopen(path, RTLD_NOW);
    if (library == nullptr) abort();
    const auto allocate = reinterpret_cast<void* (*)(int)>(dlsym(library, "AllocateBelow"));
    free(allocate(i % 20));
    dlclose(library);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long count = atol(argv[1]);
  const char* const end = argv[2];
  if (strcmp(end, "count") == 0) AllocateAndCount(count);
  if (strcmp(end, "dlclose") == 0) {
    LoadAndUnload(count, argv[3]);
    return 0;
  }
  if (strcmp(end, "filter") == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  if (strcmp(end, "keep") == 0 || strcmp(end, "filter") == 0) {
    KeepTwice(count);
    return 0;
  }
  if (strcmp(end, "headless") == 0) KeepWithoutTheFirstThread(count);
  Allocate(count);
  if (strcmp(end, "threads") == 0) AllocateInThreads(count);
  if (strcmp(end, "_exit") == 0) _exit(3);
  if (strcmp(end, "kill") == 0) raise(SIGKILL);
  if (strcmp(end, "abort") == 0) abort();
  return 0;
}
