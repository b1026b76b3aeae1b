// Binary trees whose functions have names.  Shows the cost of an exact profile of bytes by function
// in a program that does little but allocate; managed_profile_costs.py measures it.
//
//   managed_trees <depth> <off | alloc | alloc,stack | sampled>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/heap.h"
#include "tracker/profile/profile.h"

namespace gc = allomon::gc;

namespace {

struct Tree {
  gc::Field<Tree> left;
  gc::Field<Tree> right;
};

#ifdef UNNAMED
#define NAMED(function) static_cast<void>(0)
#else
const allomon::ManagedFunction kMake = allomon::RegisterManagedFunction("make", "trees.ml", 1);
const allomon::ManagedFunction kCheck = allomon::RegisterManagedFunction("check", "trees.ml", 2);
const allomon::ManagedFunction kTrees = allomon::RegisterManagedFunction("trees", "trees.ml", 3);
#define NAMED(function) const allomon::ManagedCall call(function)
#endif

gc::Local<Tree> Make(int depth) {
  NAMED(kMake);
  if (depth == 0) return gc::make<Tree>(nullptr, nullptr);
  return gc::make<Tree>(Make(depth - 1), Make(depth - 1));
}

long Check(const Tree& tree) {
  NAMED(kCheck);
  return tree.left ? 1 + Check(*tree.left.operator->()) + Check(*tree.right.operator->()) : 1;
}
long Check(gc::Handle<Tree> tree) { return Check(*tree.operator->()); }

long Trees(int depth) {
  NAMED(kTrees);
  long sum = Check(Make(depth + 1));
  const gc::Local<Tree> long_lived = Make(depth);
  for (int d = 4; d <= depth; d += 4) {
    const int iterations = 1 << (depth - d + 4);
    for (int i = 0; i < iterations; ++i) sum += Check(Make(d));
  }
  return sum + Check(long_lived);
}

void Start(const char* mode) {
  allomon::ProfileOptions options;
  options.rate = strcmp(mode, "sampled") == 0 ? 0.9999999 : 1;
  options.seed = 1;
  if (strcmp(mode, "alloc,stack") == 0) options.style = allomon::ProfileStyle::kStack;
  if (!allomon::Profile::Start(options).ok()) abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fputs("usage: managed_trees DEPTH MODE\n", stderr), 1;
  const auto heap = gc::Heap::Create();
  const gc::Mutator mutator(**heap);
  if (strcmp(argv[2], "off") != 0) Start(argv[2]);
  const long sum = Trees(atoi(argv[1]));
  if (allomon::Profile::Stop().ok()) printf("%s\n", allomon::Profile::Summary().c_str());
  const auto words = (*heap)->statistics().allocated_words;
  printf("%ld, %ld bytes\n", sum, static_cast<long>(8 * words));
}
