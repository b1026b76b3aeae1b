// Allocates during the whole life of a process, from before main until after the last exit handler,
// with every block sampled from main on.  Prints "ok" on success.  It is linked in several ways,
// one of them static.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tracker/tracker.h"

namespace {

std::atomic<int> g_allocs{0};
std::atomic<int> g_deallocs{0};

struct Counting {
  std::optional<int> alloc_major(const allomon::Allocation& allocation) {
    if (allocation.callstack.empty()) Fail("a stack is empty");
    return ++g_allocs;
  }
  void dealloc_major(int) { ++g_deallocs; }

  [[noreturn]] static void Fail(const char* what) {
    dprintf(STDERR_FILENO, "%s\n", what);
    _exit(1);
  }
};

void* Malloc(size_t size) {
  void* volatile block = malloc(size);
  if (block == nullptr) Counting::Fail("no block");
  memset(block, 1, size);
  return block;
}

// Allocated before any constructor.  In a static executable, thread-local storage has only its
// initial contents then.
void* g_before_constructors = nullptr;
void AllocateFirst() { g_before_constructors = Malloc(100); }

void* g_before_main = nullptr;
__attribute__((constructor(101))) void AllocateBeforeMain() { g_before_main = Malloc(100); }

thread_local struct Late {
  ~Late() { free(Malloc(100)); }
  int touched = 0;
} t_late;

struct BehindMain {
  ~BehindMain() {
    free(block);
    free(Malloc(100));
  }
  void* block = Malloc(100);
} behind_main;

void* g_kept = nullptr;

// Destructors without priority run last.
__attribute__((destructor)) void AllocateLast() {
  free(g_kept);
  free(Malloc(100));
  if (g_allocs < 10 || g_deallocs < 5) Counting::Fail("callbacks are missing");
  dprintf(STDOUT_FILENO, "ok\n");
}

}  // namespace

// The dynamic loader, or the start-up code of a static executable, calls these functions first of
// all. (Shared libraries have no such functions.)
__attribute__((section(".preinit_array"), used)) void (*const allocate_first)() = AllocateFirst;

int main() {
  if (g_before_constructors == nullptr || g_before_main == nullptr) Counting::Fail("too early");
  if (!allomon::Tracker::start(1, Counting{}).ok()) Counting::Fail("no tracker");
  free(g_before_constructors);
  free(g_before_main);
  atexit([] { free(Malloc(100)); });
  g_kept = Malloc(100);
  std::thread([] {
    t_late.touched = 1;
    for (int i = 0; i < 10; ++i) free(Malloc(100 * i + 1));
  }).join();
  t_late.touched = 1;
  try {
    throw 1;  // the language's unwinder still works
  } catch (int) {
  }
  return 0;
}
