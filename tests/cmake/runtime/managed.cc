// The managed heap of the installation, with a tracker that sees its objects and no other blocks.
#include <allomon/runtime/heap.h>
#include <allomon/tracker/tracker.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace gc = allomon::gc;

namespace {

struct Cell {
  long head;
  gc::Field<Cell> tail;
};

int born = 0;

struct Count {
  std::optional<char> alloc_minor(const allomon::Allocation&) {
    ++born;
    return std::nullopt;
  }
};

}  // namespace

int main() {
  auto heap = gc::Heap::Create();
  const auto id = allomon::Tracker::start(1.0, Count{});
  if (!heap.ok() || !id.ok()) return 2;
  gc::Mutator mutator(**heap);
  gc::Local<Cell> list;
  for (long i = 0; i < 100; ++i) list = gc::make<Cell>(i, list);
  free(malloc(100));
  if (!allomon::Tracker::stop(*id).ok()) return 2;
  printf("%d objects born\n", born);
  return born >= 100 && list->head == 99 ? 0 : 1;
}
