// A leak, a cache that fills in the first 40 % of the run and stays, a cache that turns over, and
// churn, for generations_test.py.
//
//   generations SECONDS
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kCacheBlocks = 8000, kTurnBlocks = 2000, kBytes = 1000 };

static void* volatile g_cache[kCacheBlocks];
static void* g_turned[kTurnBlocks];
static void* volatile g_kept;

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) void LeakOne(void) {
  void** const block = malloc(kBytes);
  *block = g_kept;
  g_kept = block;
}

__attribute__((noinline)) void FillCache(int i) { g_cache[i] = malloc(kBytes); }

__attribute__((noinline)) void TurnOver(int i) {
  free(g_turned[i % kTurnBlocks]);
  g_turned[i % kTurnBlocks] = malloc(kBytes);
}

__attribute__((noinline)) void Churn(void) {
  void* volatile block = malloc(kBytes);
  free(block);
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 4;
  const double begin = Seconds();
  int leaked = 0, cached = 0, turned = 0;
  for (double share = 0; share < 1; share = (Seconds() - begin) / seconds) {
    const struct timespec pause = {0, 1000000};
    for (; leaked < share * 4000; ++leaked) LeakOne();
    for (; cached < kCacheBlocks && cached < share / 0.4 * kCacheBlocks; ++cached)
      FillCache(cached);
    for (; turned < share * 40 * kTurnBlocks; ++turned) TurnOver(turned);
    for (int i = 0; i < 100; ++i) Churn();
    nanosleep(&pause, NULL);
  }
  return 0;
}
