// Threads that allocate while they exit.
#include <pthread.h>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

pthread_key_t g_key;
__thread int t_round;

// Allocates in the third round of destructors only: the tracker's own destructor is then called
// once at most.
void AllocateInThirdRound(void* value) {
  if (++t_round < 3) {
    pthread_setspecific(g_key, value);
  } else {
    SamplingFree(SamplingMalloc(100));
  }
}

void* JustExit(void* key) {
  pthread_setspecific(g_key, key);
  return nullptr;
}

// Such a thread used to stay in the registry, and the next one had the same address: starting a
// tracker then looped for ever.
TEST(ThreadExitTest, FirstAllocationInALateDestructorLeavesNothingBehind) {
  ASSERT_EQ(pthread_key_create(&g_key, AllocateInThirdRound), 0);
  for (int i = 0; i < 20; ++i) {
    Ledger ledger;
    ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, JustExit, &g_key), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    ASSERT_TRUE(Tracker::stop().ok());
    EXPECT_EQ(ledger.Live(), 0);
  }
}

}  // namespace
}  // namespace allomon
