// `allomon export`: an error is one line that names the mistake and the remedy, with status 2.
#include "tools/export/export_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::interchange {
namespace {

using heap::Metric;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class ExportCommandTest : public ::testing::Test {
 protected:
  ExportCommandTest() {
    std::string folder = std::string(getenv("TEST_TMPDIR")) + "/exportXXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    EXPECT_EQ(chdir(folder.c_str()), 0);
    Write("a.pb.gz", pprof::Gzip(pprof::EncodePprof(testing::OddProfile())));
  }

  static CommandResult Run(const std::vector<std::string>& args) {
    return RunExport(args, report::Terminal());
  }

  static std::string Out(const std::vector<std::string>& args) {
    const CommandResult result = Run(args);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  static void ExpectError(const std::vector<std::string>& args, const std::string& words) {
    const CommandResult result = Run(args);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("allomon export: "));
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
};

TEST_F(ExportCommandTest, EveryFormatIsWrittenToItsFile) {
  for (const ExportFormat& format : ExportFormats()) {
    const std::string name = std::string("out.") + format.name;
    EXPECT_EQ(Out({std::string("--format=") + format.name, "-o", name, "a.pb.gz"}), "");
    EXPECT_GT(std::filesystem::file_size(name), 100u) << name;
    EXPECT_THAT(Out({"--help"}), HasSubstr(format.name));
  }
  EXPECT_TRUE(std::filesystem::exists("out.mlmon.sources"));
}

TEST_F(ExportCommandTest, FilesAreTheirOwnersOnly) {
  const mode_t mask = umask(022);
  Out({"--format=collapsed", "-o", "a.folded", "a.pb.gz"});
  Out({"--format=mlmon", "-o", "a.out", "a.pb.gz"});
  umask(mask);
  for (const char* const name : {"a.folded", "a.out", "a.out.sources"}) {
    struct stat status;
    ASSERT_EQ(stat(name, &status), 0) << name;
    EXPECT_EQ(status.st_mode & 077, 0u) << name;
  }
}

TEST_F(ExportCommandTest, LiveIsWrittenUnlessAnotherMetricIsAskedFor) {
  const std::string live = Out({"--format", "collapsed", "a.pb.gz"});
  EXPECT_EQ(Out({"--format=collapsed", "--metric=live", "--", "a.pb.gz"}), live);
  EXPECT_NE(Out({"--format=collapsed", "--metric=alloc", "a.pb.gz"}), live);
  Out({"--format=collapsed", "--output=out", "a.pb.gz"});
  EXPECT_EQ(Read("out"), live);
}

// A sum of two programs would be nobody's heap.
TEST_F(ExportCommandTest, FilesAreOfOneProgram) {
  heap::HeapProfile profile = testing::OddProfile();
  profile.program = "/usr/bin/first";
  Write("first.pb.gz", pprof::Gzip(pprof::EncodePprof(profile)));
  profile.program = "/opt/second";
  Write("second.pb.gz", pprof::Gzip(pprof::EncodePprof(profile)));
  profile.program = "/opt/first";
  Write("third.pb.gz", pprof::Gzip(pprof::EncodePprof(profile)));
  ExpectError({"--format=collapsed", "first.pb.gz", "second.pb.gz"},
              "second.pb.gz is of second, not of first: give files of one program");
  EXPECT_NE(Out({"--format=collapsed", "first.pb.gz", "third.pb.gz"}), "");
}

TEST_F(ExportCommandTest, ATerminalGetsTextAlone) {
  report::Terminal terminal;
  terminal.is_terminal = true;
  const CommandResult refused = RunExport({"--format=pprof", "a.pb.gz"}, terminal);
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err,
            "allomon export: --format=pprof is no text, and standard output is a terminal: name a "
            "file with -o, or write into a pipe\n");
  EXPECT_EQ(RunExport({"--format=collapsed", "a.pb.gz"}, terminal).status, 0);
  EXPECT_EQ(RunExport({"--format=pprof", "-o", "b.pb.gz", "a.pb.gz"}, terminal).status, 0);
  for (const ExportFormat& format : ExportFormats()) {
    if (std::string(format.name) == "mlmon") continue;  // two files
    const std::string bytes = Out({std::string("--format=") + format.name, "a.pb.gz"});
    EXPECT_EQ(bytes.find('\0') == std::string::npos, format.is_text) << format.name;
  }
}

TEST_F(ExportCommandTest, SeveralAddUp) {
  Out({"--format=collapsed", "-o", "a.folded", "a.pb.gz"});
  const std::string once = Read("a.folded"),
                    twice = Out({"--format=collapsed", "a.folded", "a.folded"});
  std::istringstream lines(once), sums(twice);
  std::string stack, of_sum;
  uint64_t value, sum;
  while (lines >> stack >> value && sums >> of_sum >> sum) {
    EXPECT_EQ(of_sum, stack);
    EXPECT_EQ(sum, 2 * value);
  }
  EXPECT_EQ(std::count(once.begin(), once.end(), '\n'),
            std::count(twice.begin(), twice.end(), '\n'));
}

TEST_F(ExportCommandTest, ByLabel) {
  const std::string all = Out({"--format=collapsed", "a.pb.gz"});
  const std::string by = Out({"--format=collapsed", "--by=label:request", "a.pb.gz"});
  EXPECT_EQ(std::count(by.begin(), by.end(), '\n'), std::count(all.begin(), all.end(), '\n'));
  EXPECT_THAT(by, HasSubstr("no request;main"));
  EXPECT_THAT(by, HasSubstr("request=GET"));
  const std::string one =
      Out({"--format=collapsed", "--focus-label=request=GET; \"/\"", "a.pb.gz"});
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1);
  ExpectError({"--format=collapsed", "--by=label:user", "a.pb.gz"},
              "a.pb.gz: no block has the label \"user\"; there is request");
  ExpectError({"--format=csv", "--by=request", "a.pb.gz"}, "is not label:KEY");
  ExpectError({"--format=csv", "--ignore-label=", "a.pb.gz"}, "is not KEY=VALUE");
}

TEST_F(ExportCommandTest, ExportsOfExportsAreTheSame) {
  Out({"--format=collapsed", "-o", "a.folded", "a.pb.gz"});
  EXPECT_EQ(Out({"--format=collapsed", "a.folded"}), Read("a.folded"));
  for (const char* const peak : {"--metric=peak", "--counts=peak"}) {
    EXPECT_EQ(Out({"--format=collapsed", peak, "a.folded"}), Read("a.folded"));
  }
  Out({"--format=mlmon", "-o", "mlmon.out", "a.pb.gz"});
  EXPECT_THAT(Out({"--format=collapsed", "mlmon.out"}), HasSubstr("main 4002\n"));
  Out({"--format=heap_v2", "-o", "a.heap", "a.pb.gz"});
  EXPECT_EQ(Out({"--format=heap_v2", "a.heap"}), Read("a.heap"));
}

TEST_F(ExportCommandTest, CommandLine) {
  ExpectError({"a.pb.gz"}, "name a format: --format=pprof, collapsed");
  ExpectError({"--format=gif", "a.pb.gz"}, "--format: \"gif\" is none of pprof, collapsed");
  ExpectError({"--format=csv"}, "name the heap profile");
  ExpectError({"--format=csv", "a.pb.gz", "gone.rec"}, "gone.rec");
  ExpectError({"--format=csv", "--metric=big", "a.pb.gz"}, "--metric: \"big\" is not alloc, live");
  ExpectError({"--format=csv", "--counts=big", "a.pb.gz"}, "--counts: \"big\" is not alloc, live");
  ExpectError({"--format=csv", "-o=", "a.pb.gz"}, "-o: \"\" is not the name");
  ExpectError({"--format=csv", "--debug-dir=x", "a.pb.gz"}, "--debug-dir: \"x\" is not a folder");
  ExpectError({"--format=csv", "--colour", "a.pb.gz"}, "unknown option --colour; --help lists");
  ExpectError({"--format"}, "--format needs a value");
}

TEST_F(ExportCommandTest, MetricThatTheProfileDoesNotHave) {
  Write("a.folded", "main;f 12\n");
  // Collapsed stacks have one number each, of what --metric says.
  EXPECT_THAT(Out({"--format=csv", "--metric=peak", "a.folded"}), HasSubstr("peak"));
  ExpectError({"--format=csv", "--metric=promoted", "a.pb.gz"},
              "it has alloc, live, peak, temporary");
}

TEST_F(ExportCommandTest, InputsThatCannotBeRead) {
  ExpectError({"--format=csv", "none"}, "cannot read none: No such file");
  ExpectError({"--format=csv", "."}, "cannot read .: Is a directory");
  Write("empty", "");
  ExpectError({"--format=csv", "empty"}, "empty");
  Write("text", "Dear reader,\n");
  ExpectError({"--format=csv", "text"}, "text is no heap profile");
  Write("bad.heap", "heap_v2/512\n@ 0x1\nx\n");
  ExpectError({"--format=csv", "bad.heap"}, "bad.heap line 3: neither");
  ExpectError({"--format=csv", "\033[2J"}, "cannot read \\x1b[2J");
}

// Stacks beyond the largest sum were left out without a word.
TEST_F(ExportCommandTest, SumsBeyond64BitsAreErrors) {
  Write("large.folded", "a;b 9000000000000000000\na;c 9000000000000000000\n");
  for (const ExportFormat& format : ExportFormats()) {
    const std::string name = format.name;
    if (name == "csv" || name == "json") {
      EXPECT_NE(Out({"--format=" + name, "large.folded"}), "");
    } else {
      ExpectError({"--format=" + name, "large.folded"},
                  "large.folded: more than 9.2e18 bytes or blocks");
    }
  }
  ExpectError({"--format=perfetto", "large.folded", "large.folded"},
              "large.folded and 1 more: more than 9.2e18 bytes");
}

TEST_F(ExportCommandTest, MlmonWithoutItsNames) {
  Out({"--format=mlmon", "-o", "mlmon.out", "a.pb.gz"});
  std::filesystem::remove("mlmon.out.sources");
  ExpectError({"--format=csv", "mlmon.out"}, "the names of mlmon.out are missing");
  ExpectError({"--format=mlmon", "a.pb.gz"}, "--format=mlmon is more than one file; name");
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  ExpectError({"--format=mlmon", "-o", "pipe", "a.pb.gz"}, "is more than one file; name");
  EXPECT_FALSE(std::filesystem::exists("pipe.sources"));
}

// Only a pprof file may take the place of the profile that it is made of.
TEST_F(ExportCommandTest, OutputThatIsTheProfile) {
  const std::string bytes = Read("a.pb.gz");
  for (const char* const format : {"csv", "mlmon", "heap_v2"}) {
    ExpectError({"--format", format, "-o", "./a.pb.gz", "a.pb.gz"},
                "./a.pb.gz is a profile that is read: name another file");
  }
  EXPECT_EQ(Read("a.pb.gz"), bytes);
  Out({"--format=pprof", "-o", "a.pb.gz", "a.pb.gz"});
  EXPECT_EQ(Read("a.pb.gz"), bytes);
}

TEST_F(ExportCommandTest, OutputThatCannotBeWrittenLeavesTheOldOne) {
  ExpectError({"--format=csv", "-o", "none/out.csv", "a.pb.gz"}, "cannot write none/out.csv");
  Write("out.heap", "old");
  Write("a.folded", "main;f 12\n");
  ExpectError({"--format=heap_v2", "-o", "out.heap", "a.folded"}, "has no addresses; choose");
  EXPECT_EQ(Read("out.heap"), "old");
}

}  // namespace
}  // namespace allomon::interchange
