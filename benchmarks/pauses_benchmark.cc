// Pauses of the managed heap with a large amount of live data.
//
//   pauses_benchmark <shape> <live MB> <seconds> [threads]
//
// Shapes: `map`, buckets of chains in which random values are replaced; `tree`, a binary tree in
// which subtrees are replaced; `arrays`, arrays of 2,000 references that are replaced and
// overwritten; `blobs`, byte strings of 10 to 40 KB.  Each thread also makes garbage. Prints one
// line: pauses by the heap's own clock, and the work done.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

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
struct Tree {
  gc::Field<Tree> left;
  gc::Field<Tree> right;
};

using Clock = std::chrono::steady_clock;

// One thread's live data, of about this many bytes.
class Map {
 public:
  explicit Map(size_t bytes) : entries_(bytes / 64), buckets_(gc::make_array<Entry>(entries_ / 2)) {
    for (size_t i = 0; i < entries_; ++i) Insert(static_cast<long>(i));
  }
  void Step(std::mt19937_64& random) {
    const size_t bucket = random() % buckets_->length();
    const gc::Local<Entry> first = buckets_->at(bucket);
    if (!first) return;
    // Removes the oldest entry of the chain and adds a new one.
    if (!first->next) {
      buckets_->at(bucket) = nullptr;
    } else {
      gc::Local<Entry> last = first;
      while (last->next->next) last = last->next;
      last->next = nullptr;
    }
    Insert(first->key);
  }

 private:
  void Insert(long key) {
    const size_t bucket = static_cast<size_t>(key) * 0x9e3779b97f4a7c15 % buckets_->length();
    const gc::Local<Value> value = gc::make<Value>();
    buckets_->at(bucket) = gc::make<Entry>(key, value, buckets_->at(bucket));
  }

  const size_t entries_;
  gc::Root<gc::Array<Entry>> buckets_;
};

gc::Local<Tree> MakeTree(int depth) {
  if (depth == 0) return gc::make<Tree>(nullptr, nullptr);
  return gc::make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}

class Trees {
 public:
  explicit Trees(size_t bytes) : trees_(gc::make_array<Tree>(bytes / (24 * 1024))) {
    for (size_t i = 0; i < trees_->length(); ++i) trees_->at(i) = MakeTree(9);
  }
  void Step(std::mt19937_64& random) {
    if (random() % 64 == 0) trees_->at(random() % trees_->length()) = MakeTree(9);
  }

 private:
  gc::Root<gc::Array<Tree>> trees_;
};

class Arrays {
 public:
  explicit Arrays(size_t bytes) : arrays_(gc::make_array<gc::Array<Value>>(bytes / 80000)) {
    for (size_t i = 0; i < arrays_->length(); ++i) Fill(i);
  }
  void Step(std::mt19937_64& random) {
    if (random() % 4096 == 0) Fill(random() % arrays_->length());
    const gc::Local<gc::Array<Value>> a = arrays_->at(random() % arrays_->length());
    const gc::Local<gc::Array<Value>> b = arrays_->at(random() % arrays_->length());
    a->at(random() % a->length()) = b->at(random() % b->length());
  }

 private:
  void Fill(size_t i) {
    const gc::Local<gc::Array<Value>> array = gc::make_array<Value>(2000);
    for (size_t k = 0; k < 2000; ++k) array->at(k) = gc::make<Value>();
    arrays_->at(i) = array;
  }
  gc::Root<gc::Array<gc::Array<Value>>> arrays_;
};

class Blobs {
 public:
  explicit Blobs(size_t bytes) : blobs_(gc::make_array<gc::Bytes>(bytes / 25000)) {
    for (size_t i = 0; i < blobs_->length(); ++i) blobs_->at(i) = gc::make_bytes(25000);
  }
  void Step(std::mt19937_64& random) {
    if (random() % 16 != 0) return;
    blobs_->at(random() % blobs_->length()) = gc::make_bytes(10000 + random() % 30000);
  }

 private:
  gc::Root<gc::Array<gc::Bytes>> blobs_;
};

std::atomic<long> g_steps{0};

template <typename Data>
void Work(gc::Heap& heap, size_t bytes, double seconds, uint64_t seed) {
  const gc::Mutator mutator(heap);
  Data data(bytes);
  std::mt19937_64 random(seed);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    for (int i = 0; i < 1000; ++i) {
      data.Step(random);
      for (int k = 0; k < 5; ++k) gc::make<Value>();
    }
    g_steps += 1000;
  }
}

template <typename Data>
void Run(gc::Heap& heap, size_t bytes, double seconds, int threads) {
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      Work<Data>(heap, bytes / static_cast<size_t>(threads), seconds, static_cast<uint64_t>(t) + 1);
    });
  }
  for (std::thread& thread : running) thread.join();
}

// Returns the microseconds below which `part` of the pauses lie.
double Percentile(const gc::HeapStatistics& s, double part) {
  uint64_t all = 0;
  for (int i = 0; i < gc::HeapStatistics::kPauseBuckets; ++i) {
    all += s.minor_pauses[i] + s.major_pauses[i];
  }
  uint64_t seen = 0;
  for (int i = 0; i < gc::HeapStatistics::kPauseBuckets; ++i) {
    seen += s.minor_pauses[i] + s.major_pauses[i];
    if (static_cast<double>(seen) >= part * static_cast<double>(all)) return 1 << i;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: pauses_benchmark map|tree|arrays|blobs MB SECONDS [THREADS]\n");
    return 2;
  }
  const size_t bytes = strtoull(argv[2], nullptr, 10) << 20;
  const double seconds = strtod(argv[3], nullptr);
  const int threads = argc > 4 ? atoi(argv[4]) : 1;
  const auto heap = gc::Heap::Create().value();
  const std::string shape = argv[1];
  if (shape == "map") {
    Run<Map>(*heap, bytes, seconds, threads);
  } else if (shape == "tree") {
    Run<Trees>(*heap, bytes, seconds, threads);
  } else if (shape == "arrays") {
    Run<Arrays>(*heap, bytes, seconds, threads);
  } else if (shape == "blobs") {
    Run<Blobs>(*heap, bytes, seconds, threads);
  } else {
    fprintf(stderr, "pauses_benchmark: no shape '%s': map, tree, arrays, blobs\n", argv[1]);
    return 2;
  }
  const gc::HeapStatistics s = heap->statistics();
  printf(
      "%s: longest %.2f ms, 99 %% below %.1f ms, 99.9 %% below %.1f ms; %llu pauses, %llu major "
      "collections, %ld steps, peak %llu MB\n",
      argv[1], static_cast<double>(s.longest_pause_ns) / 1e6, Percentile(s, .99) / 1e3,
      Percentile(s, .999) / 1e3, static_cast<unsigned long long>(s.minor_collections),
      static_cast<unsigned long long>(s.major_collections), g_steps.load(),
      static_cast<unsigned long long>(s.peak_old_space_bytes >> 20));
  return 0;
}
