// The decisions of `allomon run` before it starts the program: options, files, workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>

#include "tools/run/main_program.h"
#include "tools/run/options.h"
#include "tools/run/output_file.h"
#include "tools/run/worker.h"

namespace allomon::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options Parsed(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : Options();
}

std::string Error(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  EXPECT_FALSE(options.ok());
  const std::string message(options.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

double RateOf(const std::vector<std::string>& args) { return std::stod(Parsed(args).rate.text); }

TEST(OptionsTest, ProgramsOptionsAreTheProgramsOwn) {
  const Options options = Parsed({"--rate=0.5", "gcc", "--version", "--rate", "-o", "a.out"});
  EXPECT_THAT(options.command, ElementsAre("gcc", "--version", "--rate", "-o", "a.out"));
  EXPECT_EQ(options.out, "");
  EXPECT_FALSE(options.version);
}

TEST(OptionsTest, TwoDashesEndTheOptions) {
  EXPECT_THAT(Parsed({"--exact", "--", "-strange", "--"}).command, ElementsAre("-strange", "--"));
  EXPECT_THAT(Parsed({"--", "--", "x"}).command, ElementsAre("--", "x"));
  EXPECT_THAT(Parsed({"-"}).command, ElementsAre("-"));
}

TEST(OptionsTest, ValueStandsBehindTheNameOrTheEqualsSign) {
  for (const Options& options : {Parsed({"-o", "f", "--limit", "2m", "--seed=7", "ls"}),
                                 Parsed({"--out=f", "--limit=2M", "--seed", "7", "ls"})}) {
    EXPECT_EQ(options.out, "f");
    EXPECT_EQ(options.limit_bytes, 2u << 20);
    EXPECT_EQ(options.seed, "7");
    EXPECT_THAT(options.command, ElementsAre("ls"));
  }
}

TEST(OptionsTest, EveryIsARate) {
  EXPECT_DOUBLE_EQ(RateOf({"--every", "80000", "ls"}), 1e-4);
  EXPECT_DOUBLE_EQ(RateOf({"--every=512k", "ls"}), 8.0 / 524288);
  EXPECT_DOUBLE_EQ(RateOf({"--every=8", "ls"}), 1);
  EXPECT_DOUBLE_EQ(RateOf({"--exact", "ls"}), 1);
  EXPECT_FALSE(Parsed({"ls"}).rate.samples_per_word.has_value());
}

TEST(OptionsTest, LimitIsWholeSegments) {
  EXPECT_EQ(Parsed({"--limit=1048577", "ls"}).limit_bytes, 1u << 20);
}

TEST(OptionsTest, TwoRatesAreAContradiction) {
  EXPECT_THAT(Error({"--rate=1", "--exact", "ls"}), HasSubstr("--rate and --exact: choose one"));
  EXPECT_THAT(Error({"--every=1k", "--rate=1", "ls"}), HasSubstr("--every and --rate"));
  EXPECT_EQ(RateOf({"--rate=1", "--rate=0.5", "ls"}), 0.5);
}

TEST(OptionsTest, BadValueNamesTheOptionAndWhatItTakes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"--rate", {"0", "-1", "1.5", "nan", "inf", "1e-4x", "", "0x1", " 1"}},
      {"--every", {"7", "", "k", "1t", "-8", "99999999999999999999", "18446744073709551615k"}},
      {"--guard", {"0", "1/10", "1000001", ""}},
      {"--in-place", {"0", "16", "1/0", "1/1000001", "1/", "2/3", ""}},
      {"--limit", {"1023k", "2049m", "64g", "", "x"}},
      {"--seed", {"", "-1", "18446744073709551616"}},
      {"-o", {"", "-"}},
  };
  for (const auto& [name, values] : cases) {
    for (const std::string& value : values) {
      const std::string error = Error({name, value, "ls"});
      EXPECT_THAT(error, HasSubstr(name + ": \"" + value + "\" is not "));
    }
    EXPECT_THAT(Error({name}), HasSubstr(name + " needs a value"));
  }
}

TEST(OptionsTest, NoProgramAndUnknownOptions) {
  EXPECT_THAT(Error({}), HasSubstr("no program"));
  EXPECT_THAT(Error({"--exact", "--"}), HasSubstr("no program"));
  EXPECT_THAT(Error({""}), HasSubstr("name is empty"));
  EXPECT_THAT(Error({"--rat=1", "ls"}),
              HasSubstr("unknown option --rat=1; did you mean --rate? --help"));
  EXPECT_THAT(Error({"--exact=1", "ls"}), HasSubstr("--exact takes no value"));
}

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

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ErrorOf(const std::string& path) { return std::string(CheckOutput(path).message()); }

TEST(OutputFileTest, NamesOfProgramsMakeNamesOfFiles) {
  EXPECT_EQ(DefaultOutput("python3", 12), "allomon.python3.12.pb.gz");
  EXPECT_EQ(DefaultOutput("a b\n../c", 12), "allomon.a_b_.._c.12.pb.gz");
  EXPECT_EQ(DefaultOutput("", 12), "allomon.program.12.pb.gz");
  EXPECT_LT(DefaultOutput(std::string(5000, 'x'), 12).size(), 100u);
}

TEST(OutputFileTest, OtherProgramsStandBesideTheMainOne) {
  EXPECT_EQ(OutputBeside("d.gz/out.pb.gz", "cc1"), "d.gz/out.cc1.pb.gz");
  EXPECT_EQ(OutputBeside("out.gz", "cc1"), "out.cc1.gz");
  EXPECT_EQ(OutputBeside("d.gz/out", "cc1"), "d.gz/out.cc1.pb.gz");
  EXPECT_EQ(OutputBeside(".pb.gz", "cc1"), ".pb.cc1.gz");
}

TEST(OutputFileTest, PlacesWithoutHopeAreKnownBefore) {
  EXPECT_TRUE(CheckOutput(testing::TempDir() + "/new.pb.gz").ok());
  EXPECT_TRUE(CheckOutput("new.pb.gz").ok());
  EXPECT_TRUE(CheckOutput("/dev/null").ok());
  EXPECT_THAT(ErrorOf(testing::TempDir()), HasSubstr("name a file in it"));
  EXPECT_THAT(ErrorOf("/nowhere/x.pb.gz"), HasSubstr("make the folder"));
  EXPECT_THAT(ErrorOf("/dev/null/x.pb.gz"), HasSubstr("choose another file with -o"));
  EXPECT_FALSE(HasRoomBeside("/dev/null"));
}

TEST(OutputFileTest, WhatCannotBeWrittenIsSavedElsewhere) {
  setenv("TMPDIR", testing::TempDir().c_str(), 1);
  std::string path = "/nowhere/saved.pb.gz";
  std::string error;
  EXPECT_TRUE(SaveFile("contents", &path, &error));
  EXPECT_EQ(path, testing::TempDir() + "/saved.pb.gz");
  EXPECT_THAT(error, HasSubstr("cannot write /nowhere/saved.pb.gz"));
  EXPECT_EQ(Read(path), "contents");
  error = "old";
  EXPECT_TRUE(SaveFile("others", &path, &error));
  EXPECT_EQ(error, "");
  EXPECT_EQ(Read(path), "others");
}

TEST(OutputFileTest, FileThatStandsElsewhereStays) {
  setenv("TMPDIR", testing::TempDir().c_str(), 1);
  const std::string places[] = {"/twice.pb.gz", "/twice.2.pb.gz", "/twice.3.pb.gz"};
  for (const std::string& place : places) {
    std::string path = "/nowhere/twice.pb.gz";
    std::string error;
    EXPECT_TRUE(SaveFile(place, &path, &error));
    EXPECT_EQ(path, testing::TempDir() + place);
  }
  for (const std::string& place : places) {
    EXPECT_EQ(Read(testing::TempDir() + place), place);
    unlink((testing::TempDir() + place).c_str());
  }
}

TEST(OutputFileTest, FileIsItsOwnersOnly) {
  std::string path = testing::TempDir() + "/private.pb.gz";
  std::string error;
  ASSERT_TRUE(SaveFile("x", &path, &error));
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

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
