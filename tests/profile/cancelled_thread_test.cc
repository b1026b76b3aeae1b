// Cancelled threads start, write and stop profiles and monitors: no thread ends inside these calls.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "tests/profile/hooked.h"
#include "tests/support/profile_bytes.h"
#include "tracker/base/uncancelled.h"
#include "tracker/formats/include/mon.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/control/profile_file.h"
#include "tracker/symbols/symbols.h"

extern "C" char etext;

namespace allomon {
namespace {

struct Job {
  std::function<void()> work;
  bool is_done = false;
};

void* WorkWhileCancelled(void* of) {
  Job* const job = static_cast<Job*>(of);
  pthread_cancel(pthread_self());
  job->work();
  job->is_done = true;
  pthread_testcancel();
  return nullptr;
}

// Whether a cancelled thread completes `work`, and ends right after it.
bool IsDoneWhileCancelled(std::function<void()> work) {
  Job job = {std::move(work)};
  pthread_t thread;
  void* result = nullptr;
  EXPECT_EQ(pthread_create(&thread, nullptr, WorkWhileCancelled, &job), 0);
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  return job.is_done;
}

TEST(UncancelledTest, CancellationWaitsForTheEndOfTheOutermost) {
  EXPECT_TRUE(IsDoneWhileCancelled([] {
    const internal::Uncancelled outer;
    { const internal::Uncancelled inner; }
    pthread_testcancel();
  }));
  EXPECT_FALSE(IsDoneWhileCancelled([] {
    { const internal::Uncancelled outer; }
    pthread_testcancel();
  }));
}

TEST(UncancelledTest, ThreadThatIsNotToBeCancelledStaysSo) {
  EXPECT_TRUE(IsDoneWhileCancelled([] {
    int former = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    { const internal::Uncancelled own; }
    pthread_testcancel();
    pthread_setcancelstate(former, nullptr);
  }));
}

// The exit status of a child of fork that is cancelled while it works.  It has one thread, as a
// program has when entry hooks are installed.
constexpr int kDone = 7;
int StatusOfCancelledChild(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(40);
    pthread_cancel(pthread_self());
    work();
    _exit(::testing::Test::HasFailure() ? 1 : kDone);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(CancelledThreadTest, NamesFunctions) {
  EXPECT_TRUE(IsDoneWhileCancelled([] {
    const auto symbols = ProcessSymbols::Load();
    const auto leaf = reinterpret_cast<uintptr_t>(&hooked::Leaf);
    EXPECT_NE(symbols->Resolve(leaf).name.find("Leaf"), std::string::npos);
  }));
}

std::string Path(const char* name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

const char* g_kind = nullptr;

void StartWriteAndStop() {
  internal::RecordingOptions options;
  EXPECT_TRUE(internal::ParseProfile(g_kind, &options));
  std::string error;
  EXPECT_EQ(internal::StartRecording(options, &error), internal::RecordingError::kNone) << error;
  hooked::CallsTwice(hooked::Leaf);
  std::string summary;
  EXPECT_EQ(WriteProfileFile(Path("cancelled.out"), {}, &error, &summary),
            internal::UnitError::kNone);
  EXPECT_EQ(error, "");
  EXPECT_EQ(ProfileSummary({}) == "", summary == "");
  EXPECT_EQ(internal::StopRecording(), internal::RecordingError::kNone);
}

class CancelledProfileTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CancelledProfileTest, IsStartedWrittenAndStopped) {
  g_kind = GetParam();
  unlink(Path("cancelled.out").c_str());
  EXPECT_EQ(StatusOfCancelledChild(StartWriteAndStop), kDone);
  EXPECT_EQ(access(Path("cancelled.out").c_str(), R_OK), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CancelledProfileTest,
                         ::testing::Values("alloc", "alloc,stack", "live", "live,stack", "time",
                                           "time,stack", "count", "count,stack"));

void StartAndStopMonitor() {
  static WORD buffer[1 << 20];
  monitor(reinterpret_cast<int (*)()>(4), reinterpret_cast<int (*)()>(&etext), buffer, 1 << 20,
          100);
  EXPECT_STREQ(monitor_error(), nullptr);
  monitor_hz(0);  // says so on standard error
  EXPECT_STRNE(monitor_error(), nullptr);
  monitor(nullptr, nullptr, nullptr, 0, 0);
  EXPECT_STREQ(monitor_error(), nullptr);
}

TEST(CancelledMonitorTest, IsStartedAndStopped) {
  ASSERT_EQ(chdir(getenv("TEST_TMPDIR")), 0);
  unlink(MON_OUT);
  EXPECT_EQ(StatusOfCancelledChild(StartAndStopMonitor), kDone);
  EXPECT_EQ(access(MON_OUT, R_OK), 0);
}

}  // namespace
}  // namespace allomon
