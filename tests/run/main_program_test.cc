#include "tools/run/main_program.h"

#include <gtest/gtest.h>

namespace allomon::run {
namespace {

recording::ProcessTotals Process(uint32_t pid, const std::string& program, double bytes) {
  recording::ProcessTotals process;
  process.pid = pid;
  process.program = program;
  process.allocated.bytes = bytes;
  process.allocated.samples = 1;
  return process;
}

std::string MainOf(const std::vector<recording::ProcessTotals>& processes) {
  const std::vector<Program> programs = Programs(processes, 1);
  EXPECT_TRUE(programs.front().is_main);
  return programs.front().path;
}

TEST(MainProgramTest, WrapperIsNotTheProgram) {
  EXPECT_EQ(MainOf({Process(1, "/bin/timeout", 5000), Process(2, "/bin/p", 1'000'000)}), "/bin/p");
}

TEST(MainProgramTest, ProgramThatStartsHungryOnesIsStillTheProgram) {
  EXPECT_EQ(MainOf({Process(1, "/bin/python3", 200'000), Process(2, "/bin/git", 1'000'000)}),
            "/bin/python3");
}

TEST(MainProgramTest, OfAnExecChainTheOneThatAllocatedMost) {
  EXPECT_EQ(MainOf({Process(1, "/bin/env", 100), Process(1, "/bin/p", 9000),
                    Process(1, "/bin/true", 50)}),
            "/bin/p");
  EXPECT_EQ(MainOf({Process(1, "/bin/env", 0), Process(1, "/bin/p", 0)}), "/bin/p");
}

TEST(MainProgramTest, ManySmallProcessesOfOneProgramAreOneLargeOne) {
  std::vector<recording::ProcessTotals> processes = {Process(1, "/bin/make", 10'000)};
  for (uint32_t pid = 2; pid < 52; ++pid) processes.push_back(Process(pid, "/bin/cc1", 9'000));
  const std::vector<Program> programs = Programs(processes, 1);
  EXPECT_EQ(programs[0].path, "/bin/cc1");
  EXPECT_EQ(programs[0].processes, 50);
  EXPECT_EQ(programs[0].allocated_bytes, 450'000);
  EXPECT_EQ(programs[1].path, "/bin/make");
}

TEST(MainProgramTest, FirstProcessThatIsNotRecordedIsAWrapper) {
  EXPECT_EQ(MainOf({Process(7, "/bin/a", 10), Process(8, "/bin/b", 20)}), "/bin/b");
}

TEST(MainProgramTest, NoProcesses) { EXPECT_TRUE(Programs({}, 1).empty()); }

}  // namespace
}  // namespace allomon::run
