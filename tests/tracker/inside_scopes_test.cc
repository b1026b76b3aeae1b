// The flags of a thread inside the tracker end with their scope, however the scope is left.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "gtest/gtest.h"
#include "tracker/core/busy_mark.h"
#include "tracker/core/control.h"
#include "tracker/core/one_inside.h"
#include "tracker/core/thread_state.h"
#include "tracker/heap_client.h"

namespace allomon {
namespace {

using internal::BusyMark;
using internal::CurrentThread;
using internal::OneInside;
using internal::SuspendedSampling;

OneInside g_door;

bool CanEnter() { return static_cast<bool>(OneInside::Scope(g_door)); }

TEST(OneInsideTest, TheFirstComesInAndTheSecondGoesBy) {
  const OneInside::Scope first(g_door);
  EXPECT_TRUE(first);
  EXPECT_FALSE(CanEnter());
  EXPECT_FALSE(CanEnter());  // a thread that passed it has not opened it
}

TEST(OneInsideTest, ChildEntersWhereItsParentWasInside) {
  internal::InstallForkHandlers();
  const OneInside::Scope parent(g_door);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(CanEnter() ? 7 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// The flags of a thread in its last destructors: its scopes are over by then.
struct Left {
  bool busy = true;
  bool in_callback = true;
};

using Leave = void (*)();
void ByException() { throw std::runtime_error("left"); }
void ByExit() { pthread_exit(nullptr); }
void ByCancellation() {
  pthread_cancel(pthread_self());
  pthread_testcancel();
}

void LeaveScopes(Leave leave) {
  const SuspendedSampling suspended;
  const OneInside::Scope inside(g_door);
  const BusyMark busy;
  heap_client::RunUnjudged(leave);
}

struct Job {
  Leave leave;
  Left left;
  pthread_key_t key;
};

void NoteWhatIsLeft(void* job) {
  static_cast<Job*>(job)->left = {CurrentThread().busy, CurrentThread().in_callback};
}

void* RunJob(void* of) {
  Job* const job = static_cast<Job*>(of);
  pthread_setspecific(job->key, job);
  try {
    LeaveScopes(job->leave);
  } catch (const std::runtime_error&) {
  }
  return nullptr;
}

class ScopesTest : public ::testing::TestWithParam<Leave> {};

TEST_P(ScopesTest, EndHoweverTheyAreLeft) {
  Job job = {GetParam(), {}, 0};
  ASSERT_EQ(pthread_key_create(&job.key, NoteWhatIsLeft), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, RunJob, &job), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_FALSE(job.left.busy);
  EXPECT_FALSE(job.left.in_callback);
  EXPECT_TRUE(CanEnter());
  pthread_key_delete(job.key);
}

INSTANTIATE_TEST_SUITE_P(Ways, ScopesTest, ::testing::Values(ByException, ByExit, ByCancellation));

}  // namespace
}  // namespace allomon
