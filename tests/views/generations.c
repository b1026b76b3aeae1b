// A leak, a cache that fills in the first 40 % of the run and stays, a cache that turns over, a
// table that only grows, and churn, for generations_test.py.  Two bursts have a pause between them.
// Prints how many blocks each leaked.
//
//   generations SECONDS [PAUSE SECONDS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kCacheBlocks = 8000, kTurnBlocks = 2000, kBytes = 1000 };

static void* volatile g_cache[kCacheBlocks];
static void* g_turned[kTurnBlocks];
static void* volatile g_kept;
static char* volatile g_table;
static size_t g_table_bytes, g_table_capacity = 4096;

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

// Copies the table into one of twice its size when it is full.
__attribute__((noinline)) void Append(void) {
  g_table_bytes += 64;
  if (g_table != NULL && g_table_bytes <= g_table_capacity) return;
  g_table_capacity *= 2;
  char* const table = malloc(g_table_capacity);
  if (g_table != NULL) memcpy(table, g_table, g_table_capacity / 2);
  free(g_table);
  g_table = table;
}

__attribute__((noinline)) void Churn(void) {
  void* volatile block = malloc(kBytes);
  free(block);
}

// Works through the part of the whole work from one share to another.  A program that a busy
// machine has stopped for a while does not catch up: all it allocated would have one age.
static void Work(double from, double to, double seconds) {
  static int leaked, cached, turned, appended;
  const int before = leaked;
  const double most_step = 0.05;
  double share = from;
  for (double last = Seconds(); share < to;) {
    const struct timespec pause = {0, 1000000};
    const double now = Seconds();
    const double step = now - last < most_step ? now - last : most_step;
    share += step / seconds * (to - from);
    last = now;
    for (; leaked < share * 4000; ++leaked) LeakOne();
    for (; cached < kCacheBlocks && cached < share / 0.4 * kCacheBlocks; ++cached)
      FillCache(cached);
    // At the end the table is full to three quarters.
    for (; appended < share * 12 * 1024; ++appended) Append();
    for (; turned < share * 40 * kTurnBlocks; ++turned) TurnOver(turned);
    for (int i = 0; i < 100; ++i) Churn();
    nanosleep(&pause, NULL);
  }
  printf("%d\n", leaked - before);
}

int main(int argc, char** argv) {
  const double first = argc > 1 ? atof(argv[1]) : 4;
  const double second = argc > 3 ? atof(argv[3]) : 0;
  Work(0, first / (first + second), first);
  if (argc <= 3) return 0;
  const double pause = atof(argv[2]);
  const struct timespec rest = {(time_t)pause, (long)((pause - (double)(time_t)pause) * 1e9)};
  nanosleep(&rest, NULL);
  Work(first / (first + second), 1, second);
  return 0;
}
