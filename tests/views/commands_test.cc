// Tests the commands on files: which reader takes them, several files, errors, status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/views/hand_made.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"
#include "tools/report/report.h"

namespace allomon::views {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void WritePprof(const std::string& path, const heap::HeapProfile& profile) {
  Write(path, pprof::Gzip(pprof::EncodePprof(profile)));
}

const report::Terminal kPipe = {};

CommandResult Report(const Arguments& args) { return report::RunReport(args, kPipe); }
CommandResult Diff(const Arguments& args) { return report::RunDiff(args, kPipe); }

// One line on standard error, and nothing else.
void ExpectError(const CommandResult& result, const std::string& text) {
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(text));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

class CommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WritePprof("server.pb.gz", Server().profile);
    Write("mlmon.out", "MLton prof\nalloc\n");
  }
};

TEST_F(CommandsTest, ReportTakesHeapProfilesByTheirContents) {
  const CommandResult result = Report({"server.pb.gz", "--metric=live"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("server.pb.gz: server (pid 17), 16.0 s\n"), HasSubstr("\ngrow  ")));
}

TEST_F(CommandsTest, LifetimesAndAgesSurviveTheFile) {
  EXPECT_THAT(Report({"server.pb.gz", "--leaks"}).out, HasSubstr("  grows\n"));
  EXPECT_THAT(Report({"server.pb.gz", "--view=lifetimes"}).out, HasSubstr("format"));
  EXPECT_THAT(Report({"server.pb.gz", "--timeline"}).out, HasSubstr("peak 47.2 MiB"));
}

TEST_F(CommandsTest, ModulesSurviveTheFileAndAddUp) {
  heap::HeapProfile profile = Server().profile;
  profile.mappings = {{0x1000, 0x2000, 0, "/usr/bin/server", ""}};
  for (heap::Location& location : profile.locations) location.mapping = 0;
  WritePprof("modules.pb.gz", profile);
  const CommandResult result =
      Report({"modules.pb.gz", "modules.pb.gz", "--view=modules", "--metric=live"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n/usr/bin/server  36.5 MiB  35.0-38.2 MiB  100.0%"));
}

TEST_F(CommandsTest, FilesOfOneProgramAddUp) {
  const CommandResult result = Report({"server.pb.gz", "server.pb.gz", "--metric=live"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("server.pb.gz and 1 more file: server"));
  EXPECT_THAT(result.out, HasSubstr("36.5 MiB (35.0-38.2 MiB) live"));
  EXPECT_THAT(result.out,
              HasSubstr("at most 115.4 MiB (114.0-117.0 MiB) live at the peak, the peaks of "
                        "its processes added"));
}

TEST_F(CommandsTest, FilesOfTwoProgramsDoNot) {
  heap::HeapProfile other = Server().profile;
  other.program = "/usr/bin/git";
  WritePprof("git.pb.gz", other);
  ExpectError(Report({"server.pb.gz", "git.pb.gz"}), "git.pb.gz is of git, not of server");
}

TEST_F(CommandsTest, MixedKindsAreRefused) {
  ExpectError(Report({"server.pb.gz", "mlmon.out"}),
              "mlmon.out is an mlmon.out, server.pb.gz a profile with call stacks");
  ExpectError(Diff({"mlmon.out", "server.pb.gz"}), "give files of one kind");
}

TEST_F(CommandsTest, AnMlmonLacksStacks) {
  ExpectError(Report({"mlmon.out", "--view=tree"}), "mlmon.out has no call stacks");
  ExpectError(Report({"mlmon.out", "--leaks"}), "mlmon.out has no call stacks");
  ExpectError(Report({"--focus=x"}), "mlmon.out has no call stacks");
  ExpectError(Diff({"mlmon.out", "mlmon.out", "--fail-on-growth"}),
              "mlmon.out has no call stacks, times or sizes for --fail-on-growth: record");
  // Requests that need no stacks go to the reader of mlmon.out, which finds it cut short.
  ExpectError(Report({"mlmon.out", "--view=functions", "--metric", "alloc", "--format=json"}),
              "mlmon.out is cut short");
}

TEST_F(CommandsTest, ForeignFilesAreSaidInOneLine) {
  Write("text.pb", "hello");
  Write("cut.pb.gz", pprof::Gzip(pprof::EncodePprof(Server().profile)).substr(0, 200));
  ExpectError(Report({"text.pb", "--leaks"}), "text.pb is no heap profile");
  ExpectError(Report({"cut.pb.gz"}), "cut.pb.gz");
  ExpectError(Report({"nowhere.pb.gz", "--view=tree"}), "nowhere.pb.gz");
  ExpectError(Diff({"text.pb", "server.pb.gz"}), "text.pb is no heap profile");
}

TEST_F(CommandsTest, BadOptionsAreSaidInOneLine) {
  ExpectError(Report({"server.pb.gz", "--metric=bytes"}), "--metric: \"bytes\" is not alloc, live");
  ExpectError(Report({"server.pb.gz", "--view=all"}), "--view: \"all\" is not functions, tree");
  ExpectError(Report({"server.pb.gz", "--focus=("}), "--focus: \"(\" is not a regular expression");
  ExpectError(Report({"server.pb.gz", "--leaks", "--timeline"}), "choose one");
  ExpectError(Report({"server.pb.gz", "--picture=x.svg"}), "allomon flame");
  for (const char* const view : {"--leaks", "--view=ages", "--view=lifetimes"}) {
    ExpectError(Report({"server.pb.gz", view, "--metric=peak"}), "leave out --metric");
  }
  EXPECT_EQ(Report({"server.pb.gz", "--leaks", "--metric=live"}).status, 0);
  ExpectError(Report({"server.pb.gz", "--diff"}), "allomon diff A B");
  ExpectError(Report({"server.pb.gz", "--sort=gc"}), "sort by cur, stack or name");
  ExpectError(Report({"server.pb.gz", "--metrik=live"}), "did you mean --metric?");
  ExpectError(Diff({"server.pb.gz", "server.pb.gz", "--sort=name"}), "--sort is for mlmon.out");
  ExpectError(Diff({"server.pb.gz", "server.pb.gz", "--sort=gc"}), "--sort is for mlmon.out");
  ExpectError(Diff({"server.pb.gz", "server.pb.gz", "--view=sizes"}),
              "--view: \"sizes\" is not functions, tree, callers or lines");
  ExpectError(Report({"mlmon.out", "--picture=./mlmon.out"}), "name another file");
  ExpectError(Report({"server.pb.gz", "--frobnicate"}), "unknown option --frobnicate");
  ExpectError(Report({"server.pb.gz", "--top"}), "--top needs a value");
  ExpectError(Diff({"server.pb.gz"}), "two profiles are compared; 1 given");
}

TEST_F(CommandsTest, DiffOfEqualFilesFindsNothing) {
  const CommandResult result = Diff({"server.pb.gz", "server.pb.gz", "--fail-on-growth"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 rows of "));
}

TEST_F(CommandsTest, GrowthIsAStatusIfAsked) {
  heap::HeapProfile more = Server().profile;
  for (heap::Sample& sample : more.samples) {
    for (heap::Amount& amount : sample.amounts) amount = {2 * amount.blocks, 2 * amount.bytes};
  }
  WritePprof("more.pb.gz", more);
  EXPECT_EQ(Diff({"server.pb.gz", "more.pb.gz"}).status, 0);
  EXPECT_EQ(Diff({"server.pb.gz", "more.pb.gz", "--fail-on-growth"}).status, 1);
  EXPECT_EQ(Diff({"more.pb.gz", "server.pb.gz", "--fail-on-growth"}).status, 0);
}

// A check that could never fail must not pass.
TEST_F(CommandsTest, GrowthThatCannotBeToldIsNoSuccess) {
  Write("small.folded", "main;f 1000\n");
  Write("large.folded", "main;f 9000000\n");
  heap::HeapProfile lossy = Server().profile;
  lossy.missing.samples = 1;
  WritePprof("lossy.pb.gz", lossy);
  for (const char* const before : {"small.folded", "lossy.pb.gz"}) {
    const std::string after = before[0] == 's' ? "large.folded" : "server.pb.gz";
    EXPECT_EQ(Diff({before, after}).status, 0);
    const CommandResult asked = Diff({before, after, "--fail-on-growth"});
    EXPECT_EQ(asked.status, 2);
    EXPECT_EQ(asked.out, Diff({before, after}).out);
    EXPECT_THAT(asked.err, StartsWith("allomon diff: --fail-on-growth: growth cannot be told"));
  }
}

TEST_F(CommandsTest, HelpNamesTheOptions) {
  EXPECT_THAT(Report({"--help"}).out, AllOf(HasSubstr("--leaks"), HasSubstr("--picture")));
  EXPECT_THAT(Diff({"--help"}).out, HasSubstr("--fail-on-growth"));
}

TEST_F(CommandsTest, ColoursOnlyWhereTheyAreWanted) {
  EXPECT_THAT(Report({"server.pb.gz"}).out, Not(HasSubstr("\033")));
  EXPECT_THAT(Report({"server.pb.gz", "--color=always"}).out, HasSubstr("\033[1m"));
}

}  // namespace
}  // namespace allomon::views
