// Threads that each keep a table of chains, replace entries of it, and make garbage.
//
//   mutators_benchmark <threads> <live MB> <million steps>
//
// Live data and steps are those of all threads together.  Prints a line as in
// runtime_peers/pauses.h.  The peers in runtime_peers/ do the same (mutators.py).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "benchmarks/runtime_peers/pauses.h"
#include "runtime/heap.h"

namespace gc = allomon::gc;

namespace {

struct Value {
  long words[3];
};
struct Entry {
  long key;
  gc::Field<Value> value;
  gc::Field<Entry> next;
};
// An entry with its value, with headers.
constexpr size_t kEntryBytes = 64;

class PauseListener : public gc::HeapListener {
 public:
  void OnCollectionStart(gc::CollectionKind) override { began_ns_ = Now(CLOCK_THREAD_CPUTIME_ID); }
  void OnCollectionEnd(gc::CollectionKind, uint64_t pause_ns) override {
    NotePause(pause_ns, Now(CLOCK_THREAD_CPUTIME_ID) - began_ns_);
  }

 private:
  uint64_t began_ns_ = 0;
};

void Insert(const gc::Local<gc::Array<Entry>>& buckets, size_t bucket, long key) {
  const gc::Local<Value> value = gc::make<Value>(Value{{key, key, key}});
  buckets->at(bucket) = gc::make<Entry>(key, value, buckets->at(bucket));
}

// Removes the last entry of the chain, and returns the sum of its key and value.
long TakeLast(const gc::Local<gc::Array<Entry>>& buckets, size_t bucket) {
  gc::Local<Entry> last = buckets->at(bucket);
  if (!last->next) {
    buckets->at(bucket) = nullptr;
  } else {
    gc::Local<Entry> before = last;
    for (last = last->next; last->next; last = last->next) before = last;
    before->next = nullptr;
  }
  return last->key + last->value->words[0];
}

long Work(gc::Heap& heap, size_t entries, long steps, uint64_t seed) {
  const gc::Mutator mutator(heap);
  const gc::Local<gc::Array<Entry>> buckets = gc::make_array<Entry>(entries / 2);
  for (size_t i = 0; i < entries; ++i) Insert(buckets, i % (entries / 2), static_cast<long>(i));
  long sum = 0;
  uint64_t random = seed;
  for (long i = 0; i < steps; ++i) {
    random = (random * 25214903917 + 11) & ((uint64_t{1} << 48) - 1);
    const size_t bucket = (random >> 16) % (entries / 2);
    sum += TakeLast(buckets, bucket);
    Insert(buckets, bucket, i);
    for (int k = 0; k < 5; ++k) gc::make<Value>();
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: mutators_benchmark THREADS LIVE_MB MILLION_STEPS\n");
    return 2;
  }
  const uint64_t started_ns = Now(CLOCK_MONOTONIC);
  const size_t threads = strtoull(argv[1], nullptr, 10);
  const size_t entries = (strtoull(argv[2], nullptr, 10) << 20) / kEntryBytes / threads;
  const long steps = atol(argv[3]) * 1000000 / static_cast<long>(threads);
  PauseListener listener;
  gc::HeapOptions options;
  options.listener = &listener;
  const auto heap = gc::Heap::Create(options).value();
  std::vector<long> sums(threads);
  std::vector<std::thread> running;
  for (size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] { sums[t] = Work(*heap, entries, steps, t + 1); });
  }
  for (std::thread& thread : running) thread.join();
  EndRun(started_ns);
  long checksum = 0;
  for (const long sum : sums) checksum += sum;
  const gc::HeapStatistics s = heap->statistics();
  const double mean_stop_ms = run_pause_count == 0 ? 0
                                                   : static_cast<double>(s.total_stop_ns) / 1e6 /
                                                         static_cast<double>(run_pause_count);
  const gc::Mutator mutator(*heap);
  heap->CollectFromTop(gc::CollectionKind::kMajor);
  PrintRun(checksum, mean_stop_ms, static_cast<double>(s.longest_stop_ns) / 1e6);
  return 0;
}
