// fork() while the heap's own thread marks: parent and child continue, the child with its own
// helper thread.
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "tests/runtime/lists.h"

namespace allomon::gc {
namespace {

TEST(MarkForkTest, ForkWhileAThreadMarks) {
  const auto heap = Heap::Create(InBackground()).value();
  const Mutator mutator(*heap);
  Root<Cell> list = MakeList(100000);
  for (int i = 0; i < 10; ++i) {
    internal::CollectForGrowth(heap->core(), internal::CurrentMutator());
    const pid_t child = fork();
    if (child == 0) {
      MakeList(300000);
      heap->Collect(CollectionKind::kMajor);
      _exit(Sum(list) == 100000L * 99999 / 2 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Sum(list), 100000L * 99999 / 2);
}

}  // namespace
}  // namespace allomon::gc
