// The managed heap for a language of your own: lists, a hash table, two threads, and a tracker that
// sees every sampled object live and die.
//
// "Rooting" in runtime/README.md explains the rules.  With ALLOMON_HEAP=stress=100,verify a
// run of ten seconds checks that this program keeps them; with stress=1 of minutes.
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/heap.h"
#include "tracker/tracker.h"

namespace gc = allomon::gc;

// A list of numbers.  Managed types are data only; functions take handles.
struct Cell {
  long head;
  gc::Field<Cell> tail;
};

gc::Local<Cell> Range(long from, long to) {
  gc::Local<Cell> list;
  while (to > from) list = gc::make<Cell>(--to, list);
  return list;
}

gc::Local<Cell> Map(gc::Handle<Cell> list, const std::function<long(long)>& f) {
  if (!list) return nullptr;
  // f may allocate in a real language, so no reference into *list is held across the call.
  const long head = f(list->head);
  return gc::make<Cell>(head, Map(list->tail, f));
}

long Sum(gc::Handle<Cell> list) {
  long sum = 0;
  for (gc::Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}

// A hash table from strings to lists, with chains.
struct Entry {
  size_t hash;
  gc::Field<gc::Bytes> key;
  gc::Field<Cell> value;
  gc::Field<Entry> next;
};
struct Table {
  size_t count;
  gc::Field<gc::Array<Entry>> buckets;
};

gc::Local<Table> MakeTable() {
  const gc::Local<Table> table = gc::make<Table>();
  table->buckets = gc::make_array<Entry>(8);
  return table;
}

// Returns the entry of `key`, or null.
gc::Local<Entry> Find(gc::Handle<Table> table, std::string_view key) {
  const size_t hash = std::hash<std::string_view>()(key);
  gc::Local<Entry> entry = table->buckets->at(hash % table->buckets->length());
  while (entry && !(entry->hash == hash && entry->key->view() == key)) entry = entry->next;
  return entry;
}

void Grow(gc::Handle<Table> table) {
  const gc::Local<gc::Array<Entry>> old = table->buckets;
  const gc::Local<gc::Array<Entry>> grown = gc::make_array<Entry>(old->length() * 2);
  for (size_t i = 0; i < old->length(); ++i) {
    for (gc::Local<Entry> entry = old->at(i), next; entry; entry = next) {
      next = entry->next;
      gc::Field<Entry>& bucket = grown->at(entry->hash % grown->length());
      entry->next = bucket;  // nothing was allocated since at(), so the reference is still valid
      bucket = entry;
    }
  }
  table->buckets = grown;
}

void Insert(gc::Handle<Table> table, std::string_view key, gc::Handle<Cell> value) {
  if (const gc::Local<Entry> entry = Find(table, key)) {
    entry->value = value;
    return;
  }
  if (++table->count > table->buckets->length()) Grow(table);
  const size_t hash = std::hash<std::string_view>()(key);
  const size_t i = hash % table->buckets->length();
  // Makes the key first.  As an argument next to at(i), it could be made after the reference to the
  // bucket was taken, and its allocation could move the bucket.  (Stress mode faults on that.)
  const gc::Local<gc::Bytes> bytes = gc::make_bytes(key);
  // The right side is evaluated first, then the bucket on the left is looked up.
  table->buckets->at(i) = gc::make<Entry>(hash, bytes, value, table->buckets->at(i));
}

// Counts sampled objects.  The callbacks for promotions and deaths run after a collection, never
// inside.
struct LifeTracker {
  struct Counts {
    std::atomic<long> born{0}, promoted{0}, died_young{0}, died_old{0};
  };
  explicit LifeTracker(Counts* counts) : counts(counts) {}
  std::optional<int> alloc_minor(const allomon::Allocation&) { return ++counts->born, 0; }
  std::optional<int> promote(int) { return ++counts->promoted, 0; }
  void dealloc_minor(int) { ++counts->died_young; }
  void dealloc_major(int) { ++counts->died_old; }
  Counts* counts;
};

int main() {
  LifeTracker::Counts counts;
  if (!allomon::Tracker::start(1e-3, LifeTracker(&counts)).ok()) return 1;

  auto heap = gc::Heap::Create();
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 1;
  const gc::Mutator mutator(**heap);  // attaches this thread

  // A table that both threads use, under the program's own lock.
  gc::Global<Table> shared(MakeTable());
  std::mutex mutex;

  const auto fill = [&](long first) {
    for (long i = first; i < first + 2000; ++i) {
      const gc::Local<Cell> squares = Map(Range(0, i % 50), [](long x) { return x * x; });
      // A thread that waits for a lock must let others collect meanwhile.
      std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
      {
        const gc::NativeRegion native;
        lock.lock();
      }
      Insert(shared.get(), "key " + std::to_string(i), squares);
    }
  };
  std::thread other([&] {
    const gc::Mutator inner(**heap);
    fill(2000);
  });
  fill(0);
  {
    const gc::NativeRegion native;
    other.join();
  }

  const gc::Local<Entry> entry = Find(shared.get(), "key 1234");
  // What the program notes about an object lives as long as the object.
  const gc::Local<gc::WeakMap<Cell, gc::Bytes>> notes = gc::make_weak_map<Cell, gc::Bytes>();
  notes->set(entry->value, gc::make_bytes("squares"));
  const std::string note(notes->get(entry->value)->view());
  printf("%zu keys; the %s below %d add up to %ld\n", shared.get()->count, note.c_str(), 1234 % 50,
         Sum(entry->value));
  shared.Reset();
  (*heap)->Collect(gc::CollectionKind::kMajor);
  if (!allomon::Tracker::stop().ok()) return 1;
  fprintf(stderr, "of %ld sampled objects %ld died young, %ld were promoted, %ld of those died\n",
          counts.born.load(), counts.died_young.load(), counts.promoted.load(),
          counts.died_old.load());
}
