// Rows about refusals by the system: by a filter of system calls, and by limits of the address
// space.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "tests/stress/crossing/rows.h"

namespace crossing {
namespace {

// System calls that a profiler may need and a host's filter may not know; openat comes first.
constexpr unsigned kRefused[] = {
    SYS_openat,       SYS_membarrier,    SYS_timer_create, SYS_timer_settime,
    SYS_timer_delete, SYS_prlimit64,     SYS_getrlimit,    SYS_arch_prctl,
    SYS_getrandom,    SYS_clock_gettime, SYS_madvise,      SYS_sysinfo,
    SYS_readlink,     SYS_readlinkat,    SYS_getcpu,       SYS_sched_getaffinity,
};

// Filters the calls of all threads.
bool RefuseSystemCalls(bool with_open) {
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (size_t i = with_open ? 0 : 1; i < std::size(kRefused); ++i) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kRefused[i], 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

// Starts and ends threads, and forks, under the limit.
int LiveOn() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const OnThread here;
      WorkOnThread(i);
    });
  }
  Join(threads);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    WorkOnThread(1);
    exit(4);
  }
  return StatusOf(child);
}

size_t MappedBytes() {
  char text[100] = {};
  const int file = open("/proc/self/statm", O_RDONLY);
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  return length <= 0 ? 0 : strtoul(text, nullptr, 10) * static_cast<size_t>(getpagesize());
}

void LimitTo(size_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  if (setrlimit(RLIMIT_AS, &limit) != 0) abort();
}

void RaiseToHardLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  LimitTo(limit.rlim_max);
}

// The managed heap throws when memory runs out; malloc's null is handled elsewhere.
uint64_t WorkIfThereIsMemory(unsigned seed) {
  try {
    return Work(seed);
  } catch (const std::bad_alloc&) {
    in_malloc = 0;
    return 0;
  }
}

// Allocates until malloc returns null, then frees everything.
bool FillMemory(size_t block_bytes) {
  void** last = nullptr;
  bool refused = false;
  for (int i = 0; i < 2'000'000 && !refused; ++i) {
    void** const block = static_cast<void**>(malloc(block_bytes));
    if (block == nullptr) {
      refused = true;
    } else {
      *block = last;
      last = block;
    }
  }
  for (int i = 0; i < 10; ++i) {
    WorkIfThereIsMemory(static_cast<unsigned>(i));
    WorkByMalloc(static_cast<unsigned>(i));
  }
  while (last != nullptr) {
    void** const next = static_cast<void**>(*last);
    free(last);
    last = next;
  }
  return refused;
}

constexpr size_t kStackBytes = 128 << 10;
constexpr int kThreads = 4;
alignas(4096) char g_stacks[kThreads][kStackBytes];
pthread_barrier_t g_all_run;

void* CallWithoutMemory(void*) {
  Compute(1);
  pthread_barrier_wait(&g_all_run);
  for (unsigned i = 0; i < 50; ++i) {
    Compute(i);
    WorkByMalloc(i);
  }
  return nullptr;
}

// Runs threads that need no new mapping, all at once.
int RunThreadsWithoutMemory() {
  pthread_t threads[kThreads];
  int created = 0;
  pthread_barrier_init(&g_all_run, nullptr, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, g_stacks[i], kStackBytes);
    const int error = pthread_create(&threads[i], &attributes, CallWithoutMemory, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
      printf("pthread_create: %s\n", strerror(error));
      fflush(stdout);
      _exit(1);  // the others wait
    }
    ++created;
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_barrier_destroy(&g_all_run);
  return created;
}

std::atomic<unsigned> g_running{0};

void* ComputeWithOthers(void*) {
  Compute(1);
  ++g_running;
  pthread_barrier_wait(&g_all_run);
  Compute(1);
  return nullptr;
}

// Runs many threads at once that need little memory, and a block for which there is room, too.
bool RunManyThreads() {
  constexpr unsigned kMany = 8;
  constexpr size_t kLargeBytes = 32 << 20;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_barrier_init(&g_all_run, nullptr, kMany + 1);
  pthread_t threads[kMany];
  for (unsigned i = 0; i < kMany; ++i) {
    if (const int error = pthread_create(&threads[i], &attributes, ComputeWithOthers, nullptr)) {
      printf("one of many threads: %s\n", strerror(error));
      fflush(stdout);
      _exit(1);
    }
    while (g_running <= i) sched_yield();  // the thread has taken its memory
  }
  void* volatile block = malloc(kLargeBytes);
  pthread_barrier_wait(&g_all_run);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_barrier_destroy(&g_all_run);
  pthread_attr_destroy(&attributes);
  free(block);
  return block != nullptr;
}

// Runs threads with stacks that a low limit allows.
void RunSmallThreads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t threads[kThreads];
  const auto run = [](void*) -> void* {
    for (unsigned i = 0; i < 20; ++i) WorkByMalloc(i);
    return nullptr;
  };
  for (pthread_t& thread : threads) {
    if (const int error = pthread_create(&thread, &attributes, run, nullptr)) {
      printf("pthread_create: %s\n", strerror(error));
      fflush(stdout);
      _exit(1);
    }
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

int Seccomp(Arguments arguments) {
  const bool with_open = arguments[0] != nullptr;
  int status = 0;
  {
    const Busy others(2);
    WorkOnThread(1);
    if (!RefuseSystemCalls(with_open)) {
      printf("no filter\n");
      return 1;
    }
    for (int i = 0; i < 3; ++i) status += LiveOn();
  }
  WorkOnThread(2);
  printf("children: %d\n", status);
  return 6;
}

int LimitLater(Arguments) {
  WorkOnThread(1);
  RunSmallThreads();
  const size_t mapped_bytes = MappedBytes();
  LimitTo(mapped_bytes);
  const int created = RunThreadsWithoutMemory();
  for (unsigned i = 0; i < 20; ++i) WorkIfThereIsMemory(i);
  LimitTo(mapped_bytes + (24 << 20));
  const bool refused = FillMemory(4000) && FillMemory(100'000);
  LimitTo(RLIM_INFINITY);
  for (int i = 0; i < 3; ++i) RunSmallThreads();
  const uint64_t sum = WorkOnThread(2);
  printf("%d threads, refused %d, sum %lx\n", created, refused, sum);
  return 0;
}

int LimitBefore(Arguments) {
  const bool room = RunManyThreads();
  const uint64_t sum = WorkOnThread(1);
  RunSmallThreads();
  const bool refused = FillMemory(100'000);
  RaiseToHardLimit();
  RunSmallThreads();
  printf("room %d, refused %d, sum %lx\n", room, refused, sum == WorkOnThread(1) ? sum : 0);
  return 0;
}

}  // namespace crossing
