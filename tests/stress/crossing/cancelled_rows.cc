// Rows of cancelled threads: cancelled_test.py.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/stress/crossing/cancelled.h"
#include "tests/stress/crossing/rows.h"

namespace crossing {
namespace {

constexpr int kBlocks = 256;
constexpr size_t kSizes[] = {1, 24, 200, 1000, 5000};
constexpr size_t kLargeBytes = 100000;

void* volatile g_blocks[kCancelledThreads][kBlocks];

size_t SizeOf(int thread, int block) {
  return block % 64 == 0 ? kLargeBytes : kSizes[(thread + block) % 5];
}

// Performs an operation once, and returns whether it succeeded.
using Once = bool (*)(int thread, int block);

__attribute__((noinline)) bool Left(Once once, int thread, int block, int bits, int depth);
__attribute__((noinline)) bool Right(Once once, int thread, int block, int bits, int depth);

// Uses 256 different stacks, so that profiles have new stacks to keep.  Not a tail call, so each
// level is on the stack.
bool Branch(Once once, int thread, int block, int bits, int depth) {
  if (depth == 0) return once(thread, block);
  const bool done = bits % 2 == 0 ? Left(once, thread, block, bits / 2, depth - 1)
                                  : Right(once, thread, block, bits / 2, depth - 1);
  return Counted(static_cast<uint64_t>(depth)) != 0 && done;
}
bool Left(Once once, int thread, int block, int bits, int depth) {
  return Branch(once, thread, block, bits, depth) && Counted(1) != 0;
}
bool Right(Once once, int thread, int block, int bits, int depth) {
  return Branch(once, thread, block, bits, depth) && Counted(2) != 0;
}

template <Once once>
bool Repeat(int thread) {
  bool succeeded = true;
  for (int block = 0; block < kBlocks; ++block) {
    succeeded &= Branch(once, thread, block, thread * 11 + block, 8);
    if (block % 16 == 0) Allocate(static_cast<unsigned>(block));  // as the column does
  }
  return succeeded;
}

bool MallocOnce(int thread, int block) {
  void* const made = malloc(SizeOf(thread, block));
  g_blocks[thread][block] = made;
  return made != nullptr;
}

bool CallocOnce(int thread, int block) {
  void* const made = calloc(1, SizeOf(thread, block));
  g_blocks[thread][block] = made;
  return made != nullptr && *static_cast<char*>(made) == 0;
}

bool NewOnce(int thread, int block) {
  char* const volatile array = new char[SizeOf(thread, block)];
  delete[] array;
  char* const volatile none = new (std::nothrow) char[24];
  delete[] none;
  g_blocks[thread][block] = operator new(SizeOf(thread, block));
  return array != nullptr && none != nullptr;
}

bool ReallocOnce(int thread, int block) {
  void* const grown = realloc(g_blocks[thread][block], 2 * SizeOf(thread, block));
  if (grown != nullptr) g_blocks[thread][block] = grown;
  return grown != nullptr;
}

void FreeAll(int thread) {
  for (void* volatile& block : g_blocks[thread]) {
    free(block);
    block = nullptr;
  }
}

bool FreeOnce(int thread, int block) {
  free(g_blocks[thread][block]);
  g_blocks[thread][block] = nullptr;
  return true;
}

// Blocks of another thread.
bool FreeAnothersOnce(int thread, int block) {
  return FreeOnce((thread + 1) % kCancelledThreads, block);
}

void MakeBlocks(int thread) { Repeat<MallocOnce>(thread); }

// Other blocks are freed in between.
template <Once once>
bool RepeatOften(int thread) {
  bool succeeded = true;
  for (int round = 0; round < 4; ++round) {
    FreeAll(thread);
    succeeded &= Repeat<once>(thread);
  }
  return succeeded;
}

bool Realloc(int thread) { return Repeat<ReallocOnce>(thread); }
bool Free(int thread) { return Repeat<FreeAnothersOnce>(thread); }

constexpr CancelledWork kWork[] = {
    {"malloc", nullptr, RepeatOften<MallocOnce>}, {"free", MakeBlocks, Free},
    {"calloc", nullptr, RepeatOften<CallocOnce>}, {"realloc", MakeBlocks, Realloc},
    {"new", nullptr, RepeatOften<NewOnce>},
};

// ---- Orders and copies, which Allomon handles inside of malloc, until the host is told.

std::atomic<bool> g_is_done{false};
char g_awaited[32];

// Grows by 64 MiB in all at first.
bool WorkUntilDone(int thread) {
  for (int i = 0; !g_is_done; ++i) {
    const int block = i % kBlocks;
    FreeOnce(thread, block);
    g_blocks[thread][block] = malloc(size_t{10} << 10);
    if (g_blocks[thread][block] == nullptr) return false;
    memset(g_blocks[thread][block], 1, 64);
    if (*g_awaited != '\0' && access(g_awaited, F_OK) == 0) g_is_done = true;
  }
  return true;
}

void* AwaitLine(void*) {
  char line[8];
  if (fgets(line, sizeof(line), stdin) == nullptr) abort();
  g_is_done = true;
  return nullptr;
}

// ---- The process ends.

void (*g_end)(int) = nullptr;

// A thread has ended inside.  The others would otherwise run for ever.
struct ThreadEnded {
  ~ThreadEnded() { syscall(SYS_exit_group, 9); }
};

bool EndTheProcess(int thread) {
  if (thread == 0) {
    const ThreadEnded ended;
    g_end(7);
  }
  while (true) Repeat<MallocOnce>(thread), FreeAll(thread);
}

}  // namespace

int Cancelled(Arguments which) {
  for (const CancelledWork& work : kWork) {
    if (strcmp(which[0], work.name) == 0) RunCancelledAndSay(work);
  }
  for (int thread = 0; thread < kCancelledThreads; ++thread) FreeAll(thread);
  return 0;
}

// Runs until a copy of the recording exists (ALLOMON_SAVE).
int CancelledUntilSaved(Arguments) {
  snprintf(g_awaited, sizeof(g_awaited), "%d.peak.1.rec", getpid());
  unlink(g_awaited);  // the main thread's
  RunCancelledAndSay({"save", nullptr, WorkUntilDone});
  return 0;
}

// Runs until a line arrives.
int CancelledUntilTold(Arguments) {
  printf("ready\n");
  fflush(stdout);
  pthread_t reader;
  pthread_create(&reader, nullptr, AwaitLine, nullptr);
  RunCancelledAndSay({"told", nullptr, WorkUntilDone});
  pthread_join(reader, nullptr);
  return 0;
}

// One of the threads ends the process, with status 7.
int CancelledEnd(Arguments how) {
  g_end = strcmp(how[0], "exit") == 0         ? exit
          : strcmp(how[0], "quick_exit") == 0 ? quick_exit
                                              : _exit;
  RunCancelledAndSay({"end", nullptr, EndTheProcess});
  return 1;
}

}  // namespace crossing
