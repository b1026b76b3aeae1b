// The cost of a snapshot of a managed heap: heap_snapshot LIST|TREE|MAP OBJECTS FILE.
//
// list: a chain of cells.  tree: a binary tree.  map: a table of buckets, whose entries have a key
// of bytes and are in a doubly linked list by use, like a cache.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/heap.h"

namespace {

namespace gc = allomon::gc;

struct Cell {
  static constexpr const char* kReferenceNames[] = {"tail"};
  long head;
  gc::Field<Cell> tail;
};

struct Tree {
  static constexpr const char* kReferenceNames[] = {"left", "right"};
  gc::Field<Tree> left;
  gc::Field<Tree> right;
};

struct Entry {
  static constexpr const char* kReferenceNames[] = {"key", "next", "newer", "older"};
  gc::Field<gc::Bytes> key;
  gc::Field<Entry> next;
  gc::Field<Entry> newer;
  gc::Field<Entry> older;
};

struct Map {
  static constexpr const char* kReferenceNames[] = {"buckets", "newest"};
  gc::Field<gc::Array<Entry>> buckets;
  gc::Field<Entry> newest;
};

double Seconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

gc::Local<Cell> MakeList(long objects) {
  gc::Local<Cell> list;
  for (long i = 0; i < objects; ++i) list = gc::make<Cell>(i, list);
  return list;
}

gc::Local<Tree> MakeTree(long objects) {
  if (objects <= 0) return {};
  const gc::Local<Tree> left = MakeTree((objects - 1) / 2);
  const gc::Local<Tree> right = MakeTree(objects - 1 - (objects - 1) / 2);
  return gc::make<Tree>(left, right);
}

// Two objects per entry.
gc::Local<Map> MakeMap(long objects) {
  const long entries = objects / 2;
  const size_t n_buckets = static_cast<size_t>(entries) + 1;
  gc::Local<gc::Array<Entry>> buckets = gc::make_array<Entry>(n_buckets);
  gc::Local<Entry> newest;
  for (long i = 0; i < entries; ++i) {
    const size_t bucket = static_cast<size_t>(i) * 0x9e3779b97f4a7c15 % n_buckets;
    const gc::Local<gc::Bytes> key = gc::make_bytes(16);
    gc::Local<Entry> entry = gc::make<Entry>(key, buckets->at(bucket), nullptr, newest);
    if (newest) newest->newer = entry;
    buckets->at(bucket) = entry;
    newest = entry;
  }
  return gc::make<Map>(buckets, newest);
}

int Measure(gc::Heap& heap, const char* path) {
  const double start = Seconds();
  heap.Collect(gc::CollectionKind::kMajor);
  const double collected = Seconds();
  const std::vector<gc::LiveType> types = heap.LiveByType();
  const double counted = Seconds();
  const absl::Status status = heap.WriteSnapshot(path);
  const double written = Seconds();
  if (!status.ok()) fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  for (const gc::LiveType& type : types) {
    printf("%-12s %10lu objects %12lu bytes\n", type.name, type.objects, type.bytes);
  }
  printf("Collect(kMajor) %.2f s, LiveByType %.2f s, WriteSnapshot %.2f s\n", collected - start,
         counted - collected, written - counted);
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fputs("usage: heap_snapshot list|tree|map OBJECTS FILE\n", stderr), 2;
  const std::string shape = argv[1];
  const long objects = atol(argv[2]);
  auto heap = gc::Heap::Create().value();
  const gc::Mutator mutator(*heap);
  gc::Global<Cell> list("list");
  gc::Global<Tree> tree("tree");
  gc::Global<Map> map("cache");
  if (shape == "list") list = MakeList(objects);
  if (shape == "tree") tree = MakeTree(objects);
  if (shape == "map") map = MakeMap(objects);
  return Measure(*heap, argv[3]);
}
