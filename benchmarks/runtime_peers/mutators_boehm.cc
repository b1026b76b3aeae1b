// The threads of mutators_benchmark.cc on Boehm's collector.
#define GC_THREADS
#include <gc/gc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pauses.h"

namespace {

struct Value {
  long words[3];
};
struct Entry {
  long key;
  Value* value;
  Entry* next;
};
// Our entries have headers; the peers make the same number of theirs.
constexpr size_t kEntryBytes = 64;

uint64_t g_began_ns;
uint64_t g_cpu_began_ns;
uint64_t g_stop_ns;
uint64_t g_longest_stop_ns;
// The allocator's lock is held.
void OnEvent(GC_EventType event) {
  if (event == GC_EVENT_PRE_STOP_WORLD) {
    g_began_ns = Now(CLOCK_MONOTONIC);
  } else if (event == GC_EVENT_POST_STOP_WORLD) {
    const uint64_t stop_ns = Now(CLOCK_MONOTONIC) - g_began_ns;
    g_stop_ns += stop_ns;
    if (stop_ns > g_longest_stop_ns) g_longest_stop_ns = stop_ns;
    g_cpu_began_ns = Now(CLOCK_THREAD_CPUTIME_ID);
  } else if (event == GC_EVENT_POST_START_WORLD) {
    NotePause(Now(CLOCK_MONOTONIC) - g_began_ns, Now(CLOCK_THREAD_CPUTIME_ID) - g_cpu_began_ns);
  }
}

template <typename T>
T* New(T value) {
  T* object = static_cast<T*>(GC_MALLOC(sizeof(T)));
  *object = value;
  return object;
}

void Insert(Entry** buckets, size_t bucket, long key) {
  Value* value = New<Value>({{key, key, key}});
  buckets[bucket] = New<Entry>({key, value, buckets[bucket]});
}

long TakeLast(Entry** buckets, size_t bucket) {
  Entry** link = &buckets[bucket];
  while ((*link)->next != nullptr) link = &(*link)->next;
  const Entry* last = *link;
  *link = nullptr;
  return last->key + last->value->words[0];
}

struct Job {
  size_t entries;
  long steps;
  uint64_t seed;
  long sum;
};

void* Work(void* argument) {
  Job* job = static_cast<Job*>(argument);
  const size_t count = job->entries / 2;
  Entry** buckets = static_cast<Entry**>(GC_MALLOC(count * sizeof(Entry*)));
  for (size_t i = 0; i < job->entries; ++i) Insert(buckets, i % count, static_cast<long>(i));
  uint64_t random = job->seed;
  for (long i = 0; i < job->steps; ++i) {
    random = (random * 25214903917 + 11) & ((uint64_t{1} << 48) - 1);
    const size_t bucket = (random >> 16) % count;
    job->sum += TakeLast(buckets, bucket);
    Insert(buckets, bucket, i);
    for (int k = 0; k < 5; ++k) New<Value>({{0, 0, 0}});
  }
  return nullptr;
}

}  // namespace

int main(int, char** argv) {
  const uint64_t started_ns = Now(CLOCK_MONOTONIC);
  GC_INIT();
  GC_set_on_collection_event(OnEvent);
  const size_t threads = strtoull(argv[1], nullptr, 10);
  const size_t entries = (strtoull(argv[2], nullptr, 10) << 20) / kEntryBytes / threads;
  const long steps = atol(argv[3]) * 1000000 / static_cast<long>(threads);
  std::vector<Job> jobs;
  for (size_t t = 0; t < threads; ++t) jobs.push_back({entries, steps, t + 1, 0});
  std::vector<pthread_t> running(threads);
  for (size_t t = 0; t < threads; ++t) pthread_create(&running[t], nullptr, Work, &jobs[t]);
  for (const pthread_t thread : running) pthread_join(thread, nullptr);
  EndRun(started_ns);
  long checksum = 0;
  for (const Job& job : jobs) checksum += job.sum;
  const double mean = run_pause_count == 0 ? 0 : double(g_stop_ns) / 1e6 / double(run_pause_count);
  const double longest = double(g_longest_stop_ns) / 1e6;
  GC_gcollect_and_unmap();
  PrintRun(checksum, mean, longest);
  return 0;
}
