// A host that would notice floating-point operations of ours, for floating_point_test.py: it traps
// inexact results and all other exceptions, or checks afterwards which were raised.  It computes
// with integers only.  It is not built for Allomon: the library is preloaded.
#include <fenv.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace {

void* volatile g_block;
void* g_kept[4000];

void Check(bool ok) {
  if (!ok) abort();
}

// Makes blocks that die, live on, move and are mapped; sampled at some thousand places.
__attribute__((noinline)) void Use() {
  for (size_t i = 0; i < 200'000; ++i) {
    g_block = malloc(i % 500 + 8);
    free(g_block);
  }
  for (size_t i = 0; i < sizeof(g_kept) / sizeof(g_kept[0]); ++i) {
    g_kept[i] = realloc(g_kept[i], 100 + i * 10);
    g_kept[i] = realloc(g_kept[i], 200 + i * 10);
  }
  for (void*& kept : g_kept) free(std::exchange(kept, nullptr));
  for (int i = 0; i < 100; ++i) {
    void* const pages =
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Check(pages != MAP_FAILED && munmap(pages, 1 << 20) == 0);
  }
}

void UseInChild() {
  const pid_t child = fork();
  if (child == 0) {
    Use();
    exit(0);
  }
  int status = 0;
  Check(waitpid(child, &status, 0) == child);
  Check(status == 0);
}

// Runs until a profile of time has received some ticks.
void Spin() {
  const clock_t end = clock() + CLOCKS_PER_SEC / 10;
  while (clock() < end) Use();
}

void UseAll(bool dumps) {
  Spin();
  std::thread(Use).join();
  UseInChild();
  if (dumps) raise(SIGUSR2);
  Use();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  const bool dumps = argc > 2;
  if (fetestexcept(FE_ALL_EXCEPT) != 0) printf("raised before main\n");
  Check(feclearexcept(FE_ALL_EXCEPT) == 0);
  Check(fesetround(FE_UPWARD) == 0);
  if (strcmp(what, "trapped") == 0) feenableexcept(FE_ALL_EXCEPT);
  UseAll(dumps);
  if (fetestexcept(FE_ALL_EXCEPT) != 0) printf("raised\n");
  if (fegetround() != FE_UPWARD) printf("rounds otherwise\n");
  if (strcmp(what, "trapped") == 0 && fegetexcept() != FE_ALL_EXCEPT) printf("traps less\n");
  printf("done\n");
}
