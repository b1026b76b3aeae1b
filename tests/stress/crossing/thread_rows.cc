// Rows about threads: the libraries that they load and unload, and the ways in which they end.
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/stress/crossing/rows.h"

namespace crossing {
namespace {

using CallBack = uint64_t(uint64_t (*)(unsigned), unsigned, int);

constexpr unsigned kLoads = 400;

// Samples are taken below the plugin's functions, on different stacks each time.
uint64_t LoadCallAndUnload(const char* path, unsigned number, bool touch_thread_local) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    printf("%s\n", dlerror());
    return 0;
  }
  auto* const call_back = reinterpret_cast<CallBack*>(dlsym(plugin, "CallBack"));
  uint64_t sum = 0;
  for (unsigned i = 0; i < 4; ++i) {
    sum += call_back(Work, number + i, static_cast<int>(number % 40 + 10 * i));
  }
  if (touch_thread_local) reinterpret_cast<void (*)()>(dlsym(plugin, "TouchThreadLocal"))();
  if (dlclose(plugin) != 0) printf("dlclose: %s\n", dlerror());
  return sum;
}

__attribute__((noinline)) uint64_t Left(unsigned bits, unsigned depth);
__attribute__((noinline)) uint64_t Right(unsigned bits, unsigned depth);

uint64_t Branch(unsigned bits, unsigned depth) {
  return bits % 2 == 0 ? Left(bits / 2, depth) : Right(bits / 2, depth);
}
uint64_t Left(unsigned bits, unsigned depth) {
  return 1 + (depth == 0 ? Work(bits) : Branch(bits, depth - 1));
}
uint64_t Right(unsigned bits, unsigned depth) {
  return 2 + (depth == 0 ? Work(bits) : Branch(bits, depth - 1));
}

// Works on so many stacks that a pass over all of them takes long.
uint64_t WorkOnManyStacks() {
  uint64_t sum = 0;
  for (unsigned bits = 0; bits < 4096; ++bits) sum += Branch(bits, 11);
  return sum;
}

uint64_t LoadAndUnload(const char* path) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < kLoads; ++i) {
    sum += LoadCallAndUnload(path, i, false);
    if (i % 50 != 0) continue;
    std::thread short_lived([path, i, &sum] {
      const OnThread here;
      sum += LoadCallAndUnload(path, i, true);
    });
    Join(short_lived);
  }
  return sum;
}

pthread_key_t g_keys[3];
std::atomic<int> g_destructions{0};

// Works, sets its key again in each of the possible rounds, and starts a thread in the first round.
template <int key>
void DestroyInEveryRound(void* value) {
  const auto round = reinterpret_cast<uintptr_t>(value);
  WorkByMalloc(static_cast<unsigned>(round) + key);
  Compute(1);
  ++g_destructions;
  if (round == 1 && key == 0) std::thread([] { WorkByMalloc(1); }).join();
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(g_keys[key], reinterpret_cast<void*>(round + 1));
  }
}

void SetKeys() {
  for (const pthread_key_t key : g_keys) pthread_setspecific(key, reinterpret_cast<void*>(1));
}

struct WorksAtTheEnd {
  ~WorksAtTheEnd() {
    WorkByMalloc(1);
    ++g_destructions;
  }
  void* volatile block = malloc(40);
};
thread_local WorksAtTheEnd t_works_at_the_end;

void TouchThreadLocal() { static_cast<volatile char*>(t_works_at_the_end.block)[0] = 1; }

// A function pointer, since the compiler would warn of a recursion that only a function without
// return ends.
void (*volatile g_end_thread)(void*) = pthread_exit;

// Ends its thread some calls deep, while it holds blocks.
__attribute__((noinline)) void EndThread(unsigned depth) {
  struct Block {
    ~Block() { free(block); }
    void* volatile block = malloc(300);
  } block;
  if (depth == 0) {
    Work(1);
    g_end_thread(nullptr);
    return;
  }
  EndThread(depth - 1);
  Counted(depth);
}

std::atomic<int> g_arrived{0};
std::atomic<int> g_cleanups{0};

void CleanUp(void*) {
  WorkByMalloc(5);
  ++g_cleanups;
}

// Waits to be cancelled, and then works for long: malloc and the profiler must not contain a
// cancellation point.  (The managed heap must not, either.)
void* WorkWhileCancelled(void* cancelled) {
  const OnThread here;
  while (!*static_cast<std::atomic<bool>*>(cancelled)) sched_yield();
  pthread_cleanup_push(CleanUp, nullptr);
  WorkOnThread(1, 30);
  std::thread thread([] { WorkByMalloc(3); });
  {
    int former = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    Join(thread);
    pthread_setcancelstate(former, nullptr);
  }
  WorkOnThread(1, 5);
  ++g_arrived;
  for (;;) pthread_testcancel();
  pthread_cleanup_pop(0);
}

// Is cancelled at any instruction.  Calls only functions that compute, which is all that POSIX
// allows.
void* ComputeUntilCancelled(void* ready) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  WorkByMalloc(1);
  static_cast<std::atomic<bool>*>(ready)->store(true);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  for (;;) Compute(1);
}

bool CancelInTheMiddle(void* (*run)(void*), unsigned after) {
  std::atomic<bool> flag{false};
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, &flag) != 0) return false;
  while (!flag) sched_yield();
  for (unsigned i = 0; i < after; ++i) Compute(i);
  if (pthread_cancel(thread) != 0) abort();  // it would be joined for ever
  void* result = nullptr;
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED;
}

bool CancelBeforeItWorks() {
  std::atomic<bool> flag{false};
  pthread_t thread;
  if (pthread_create(&thread, nullptr, WorkWhileCancelled, &flag) != 0) return false;
  pthread_cancel(thread);
  flag = true;
  void* result = nullptr;
  {
    const Waiting waiting;
    pthread_join(thread, &result);
  }
  return result == PTHREAD_CANCELED;
}

}  // namespace

int Unload(Arguments paths) {
  uint64_t sums[2] = {};
  printf("sum %lx\n", WorkOnManyStacks());
  const Busy others(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&sums, paths, i] {
      const OnThread here;
      sums[i] = LoadAndUnload(paths[i]);
    });
  }
  Join(threads);
  printf("sums %lx %lx\n", sums[0], sums[1]);
  return 0;
}

int KeyDestructors(Arguments) {
  pthread_key_create(&g_keys[0], DestroyInEveryRound<0>);
  pthread_key_create(&g_keys[1], DestroyInEveryRound<1>);
  pthread_key_create(&g_keys[2], DestroyInEveryRound<2>);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::thread> threads;
    for (int j = 0; j < 3; ++j) {
      threads.emplace_back([] {
        SetKeys();
        TouchThreadLocal();
        const OnThread here;
        WorkOnThread(1, 2);
      });
    }
    Join(threads);
  }
  // Starts threads whose first work is in their destructors.
  for (int i = 0; i < 20; ++i) std::thread(SetKeys).join();
  printf("%d destructions\n", g_destructions.load());
  return 0;
}

int ThreadExit(Arguments) {
  const Busy others(1);
  int ended = 0;
  for (unsigned i = 0; i < 20; ++i) {
    std::vector<std::thread> threads;
    for (int j = 0; j < 2; ++j) {
      threads.emplace_back([i] {
        const OnThread here;
        EndThread(i);
      });
    }
    Join(threads);
    ++ended;
  }
  int cancelled = 0;
  for (int i = 0; i < 20; ++i) cancelled += CancelBeforeItWorks() ? 1 : 0;
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      const OnThread here;
      WorkOnThread(1, 2);
    }).detach();
  }
  printf("%d ended, %d cancelled, of which %d had done their work, %d cleaned up\n", ended,
         cancelled, g_arrived.load(), g_cleanups.load());
  return 0;
}

int AsynchronousCancel(Arguments) {
  int cancelled = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const Waiting waiting;
    cancelled += CancelInTheMiddle(ComputeUntilCancelled, i % 16) ? 1 : 0;
  }
  WorkOnThread(1);
  printf("%d cancelled\n", cancelled);
  return 0;
}

int LastThread(Arguments) {
  std::thread([] {
    for (int i = 0; i < 200; ++i) Compute(1);
    {
      const OnThread here;
      WorkOnThread(1);
    }
    printf("the last thread\n");
    exit(7);
  }).detach();
  WorkOnThread(2);
  pthread_exit(nullptr);
}

}  // namespace crossing
