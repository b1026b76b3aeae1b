// Writes a snapshot with every kind of content: write_snapshot FILE.
#include <cstdio>
#include <string>

#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/weak.h"

namespace {

namespace gc = allomon::gc;

struct Cell {
  static constexpr const char* kTypeName = "cell \"of\" \\ a\nlist";
  static constexpr const char* kReferenceNames[] = {"tail"};
  long head;
  gc::Field<Cell> tail;
};

struct Tree {
  gc::Field<Tree> left;
  gc::Field<Tree> right;
};

gc::Local<Tree> MakeTree(int depth) {
  if (depth == 0) return gc::make<Tree>(nullptr, nullptr);
  return gc::make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}

int Write(gc::Heap& heap, const char* path) {
  gc::Global<Tree> tree("tree");
  tree = MakeTree(10);
  gc::Global<gc::Array<Cell>> table("table");
  table = gc::make_array<Cell>(3000);
  for (size_t i = 0; i < 3000; i += 7) {
    const gc::Root<Cell> cell = gc::make<Cell>(1, nullptr);
    cell->tail = gc::make<Cell>(2, cell);
    table.get()->at(i) = cell;
  }
  const gc::Root<gc::Bytes> bytes = gc::make_bytes(20000);
  const gc::Root<gc::Ephemeron<gc::Bytes, Cell>> ephemeron =
      gc::make_ephemeron<gc::Bytes, Cell>(bytes, gc::make<Cell>(3, nullptr));
  const gc::Root<gc::WeakRef<gc::Bytes>> weak = gc::make_weak<gc::Bytes>(bytes);
  const gc::Root<gc::CustomBlock> block = gc::make_custom(nullptr, 4096, [](void*) {});
  gc::ValueStack<Cell, 4> stack;
  stack.Push(gc::make<Cell>(4, nullptr));
  gc::add_finalizer<Cell>(gc::make<Cell>(5, nullptr), [](gc::Handle<Cell>) {});
  const absl::Status status = heap.WriteSnapshot(path);
  if (!status.ok()) fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto heap = gc::Heap::Create().value();
  const gc::Mutator mutator(*heap);
  return Write(*heap, argv[1]);
}
