#include "tools/run/worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace allomon::run {
namespace {

WorkResult RunWork(
    const std::function<std::string(WorkProgress*)>& work,
    const std::function<void(const WorkProgress&)>& tick = [](const WorkProgress&) {}) {
  const Signals signals;
  return RunWorker(signals, work, tick);
}

TEST(WorkerTest, OutputComesBackWhole) {
  const std::string large(3'000'000, 'x');
  const WorkResult result = RunWork([&](WorkProgress*) { return large + '\0' + "end"; });
  EXPECT_TRUE(result.is_done);
  EXPECT_EQ(result.output, large + '\0' + "end");
}

TEST(WorkerTest, CrashHarmsNobody) {
  const WorkResult result = RunWork([](WorkProgress*) -> std::string { abort(); });
  EXPECT_FALSE(result.is_done);
  EXPECT_EQ(result.why, "ended by signal 6");
}

TEST(WorkerTest, WantOfMemoryIsSaid) {
  const WorkResult result = RunWork([](WorkProgress*) -> std::string { throw std::bad_alloc(); });
  EXPECT_FALSE(result.is_done);
  EXPECT_EQ(result.why, "out of memory");
}

TEST(WorkerTest, InterruptedWorkEnds) {
  uint64_t seen = 0;
  const WorkResult result = RunWork(
      [](WorkProgress* progress) -> std::string {
        progress->done = 7;
        for (;;) pause();
      },
      [&](const WorkProgress& progress) {
        seen = progress.done;
        kill(getpid(), SIGINT);
      });
  EXPECT_FALSE(result.is_done);
  EXPECT_EQ(result.why, "interrupted");
  EXPECT_EQ(seen, 7u);
}

}  // namespace
}  // namespace allomon::run
