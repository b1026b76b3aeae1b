// A fork inside a callback leaves a child that can allocate, track and exit.
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;

struct Forks {
  Ledger ledger;
  pid_t child = -1;  // fork's result for the one block of 4321 bytes
};

class ForkingTracker {
 public:
  explicit ForkingTracker(Forks* forks) : forks_(forks) {}
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes == 4321) forks_->child = fork();
    return forks_->ledger.Open(allocation);
  }
  void dealloc_major(int serial) { forks_->ledger.Close(serial); }

 private:
  Forks* forks_;
};

// Checks, in both processes, that the callback returns, its block is followed, and so are later
// ones.
bool GoesOn(Forks* forks, void* block) {
  SamplingFree(block);
  SamplingFree(SamplingMalloc(10));
  return forks->ledger.blocks.size() == 2 && forks->ledger.Live() == 0 && Tracker::stop().ok();
}

TEST(ForkInCallbackTest, BothProcessesGoOn) {
  Forks forks;
  ASSERT_TRUE(Tracker::start(1, ForkingTracker(&forks)).ok());
  void* block = SamplingMalloc(4321);
  ASSERT_GE(forks.child, 0);
  if (forks.child == 0) _exit(GoesOn(&forks, block) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(forks.child, &status, 0), forks.child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(GoesOn(&forks, block));
}

}  // namespace
}  // namespace allomon
