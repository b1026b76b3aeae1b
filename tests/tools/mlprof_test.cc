#include "tools/mlprof/mlprof.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/profile/golden_files.h"
#include "tests/tools/fake_program.h"

namespace allomon::mlprof {
namespace {

using Args = std::vector<std::string>;

const char kUsage[] =
    "usage: mlprof [option ...] a.out [mlmon.out ...]\n"
    "    -call-graph <file>      write call graph to dot file\n"
    "    -graph-title <string>   set call-graph title\n"
    "    -gray {false|true}      gray nodes according to stack %\n"
    "    -keep <exp>             which functions to display\n"
    "    -mlmon <file>           process mlmon files listed in <file>\n"
    "    -raw {false|true}       show raw counts\n"
    "    -show-line {false|true} show line numbers\n"
    "    -split <regexp>         split matching functions\n"
    "    -thresh [0.0,100.0]     -keep (thresh x)\n"
    "    -tolerant {false|true}  ignore broken mlmon files\n";

const char kTable[] =
    "90 bytes allocated (10 bytes by GC)\n"
    "function  cur  stack  GC  \n"
    "-------- ----- ----- -----\n"
    "<main>   50.0% 90.0% 10.0%\n"
    "A.g      30.0% 40.0% 10.0%\n"
    "<gc>     10.0%  0.0% 10.0%\n"
    "A.f      10.0% 10.0%  0.0%\n";

class MlprofTest : public testing::FakeProgramTest {
 protected:
  static std::string Out(const Args& args) {
    const Result result = RunMlprof(args);
    EXPECT_TRUE(result.success) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  static std::string Error(const Args& args) {
    const Result result = RunMlprof(args);
    EXPECT_FALSE(result.success) << result.out;
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  static std::string UsageError(const Args& args) {
    const std::string error = Error(args);
    const size_t line = error.find('\n') + 1;
    EXPECT_EQ(error.substr(line), kUsage);
    return error.substr(0, line);
  }
};

TEST_F(MlprofTest, Table) { EXPECT_EQ(Out({"prog", "mlmon.out"}), kTable); }

TEST_F(MlprofTest, WithoutProfileAnEmptyTable) {
  EXPECT_EQ(Out({"prog"}), "function cur\n-------- ---\n");
  EXPECT_EQ(Out({"-raw", "true", "prog"}), "function cur raw\n-------- --- ---\n");
}

TEST_F(MlprofTest, UsageErrors) {
  EXPECT_EQ(UsageError({}), "wrong number of args\n");
  EXPECT_EQ(UsageError({"-raw", "true"}), "wrong number of args\n");
  EXPECT_EQ(UsageError({"-help"}), "unknown switch: -help\n");
  EXPECT_EQ(UsageError({"--"}), "unknown switch: --\n");
  EXPECT_EQ(UsageError({"-"}), "unknown switch: -\n");
  EXPECT_EQ(UsageError({"-raw"}), "-raw requires an argument\n");
  EXPECT_EQ(UsageError({"-thresh", "x", "prog"}), "-thresh requires a real\n");
  EXPECT_EQ(UsageError({"-thresh", "101", "prog"}), "invalid -thresh\n");
  EXPECT_EQ(UsageError({"-thresh", "~1", "prog"}), "invalid -thresh\n");
  EXPECT_EQ(UsageError({"-split", "(", "prog"}), "invalid -split regexp: (\n");
  EXPECT_EQ(UsageError({"-keep", "(from", "prog"}), "invalid -keep arg: Fail: unmatched (\n");
  EXPECT_EQ(UsageError({"-keep", "(frm all)", "prog"}), "invalid -keep arg: Fail: (frm all)\n");
}

TEST_F(MlprofTest, BooleansArePrefixesInLowerCase) {
  EXPECT_EQ(Out({"-raw", "falsehood", "prog", "mlmon.out"}), kTable);
  for (const char* text : {"TRUE", "1", "yes", "", "tru"}) {
    EXPECT_EQ(UsageError({"-raw", text, "prog"}), "-raw requires a boolean\n");
  }
}

TEST_F(MlprofTest, OptionsEndAtTheExecutable) {
  EXPECT_EQ(Error({"prog", "-raw"}),
            "Error loading mlmon file '-raw': Io: openIn \"-raw\" failed with "
            "SysErr: No such file or directory [noent]\n");
}

TEST_F(MlprofTest, LaterKeepAndThreshReplaceEarlierOnes) {
  EXPECT_EQ(Out({"-keep", "(or)", "-thresh", "0", "prog", "mlmon.out"}), kTable);
  EXPECT_EQ(Out({"-thresh", "100", "-keep", "all", "prog", "mlmon.out"}), kTable);
}

TEST_F(MlprofTest, ShortNamesChangeWhatKeepMatches) {
  const std::string out = Out({"-long-name", "false", "-keep", "\"f  \"", "prog", "mlmon.out"});
  EXPECT_NE(out.find("\nf        10.0%"), std::string::npos) << out;
  EXPECT_EQ(out.find("A."), std::string::npos);
}

TEST_F(MlprofTest, NameOfDotsHasNoShortForm) {
  SourceTable table = testing::SmallTable();
  table.names[3].name = "...";
  table.names[4].name = "a.b..";
  Write("prog", FormatSourcesStub(table), 0755);
  const std::string out = Out({"-long-name", "false", "prog", "mlmon.out"});
  EXPECT_NE(out.find("\n...      10.0%"), std::string::npos) << out;
  EXPECT_NE(out.find("\nb        30.0%"), std::string::npos) << out;
}

TEST_F(MlprofTest, ExecutableErrors) {
  EXPECT_EQ(Error({"missing"}), "Error: executable 'missing' does not exist.\n");
  EXPECT_EQ(Error({""}), "Error: executable '' does not exist.\n");
  WriteScript("unprofiled", "printf '0x1\\n0\\n0\\n0\\n'");
  EXPECT_EQ(Error({"unprofiled"}),
            "Error: executable 'unprofiled' is not compiled for profiling.\n");
}

// Even root may execute only files with an x bit, so the test also holds for root.
TEST_F(MlprofTest, ExecutableWithoutTheBit) {
  EXPECT_EQ(Error({"mlmon.out"}), "Error: executable 'mlmon.out' does not run.\n");
}

TEST_F(MlprofTest, AnswersThatAreNone) {
  WriteScript("silent", "exit 0");
  EXPECT_EQ(Error({"silent"}), "unexpected end of show-sources data\n");
  WriteScript("chatty", "echo hello; exec ./prog \"$@\"");
  EXPECT_EQ(Error({"chatty"}), "expected magic\n");
  WriteScript("late", "./prog \"$@\"; echo bye");
  EXPECT_EQ(Error({"late"}), "expected end of file\n");
  Write("no-program", "not a program\n", 0755);
  EXPECT_EQ(Error({"no-program"}), "unexpected end of show-sources data\n");
  EXPECT_EQ(Error({"."}), "unexpected end of show-sources data\n");
}

TEST_F(MlprofTest, ExecutableIsAskedInTheAgreedWay) {
  WriteScript("spy",
              "printf '%s|' \"$0\" \"$@\" > args; pwd >> args\n"
              "test -p /dev/stdin && echo pipe >> args\n"
              "exec ./prog");
  EXPECT_EQ(Out({"./spy", "mlmon.out"}), kTable);
  const std::string directory = std::filesystem::current_path();
  EXPECT_EQ(testing::ReadFileOrDie("args"),
            directory + "/spy|@MLton|show-sources|" + directory + "\npipe\n");
}

TEST_F(MlprofTest, HowTheExecutableEndsDoesNotMatter) {
  WriteScript("fails", "./prog; exit 3");
  EXPECT_EQ(Out({"fails", "mlmon.out"}), kTable);
  WriteScript("killed", "./prog; kill -9 $$");
  EXPECT_EQ(Out({"killed", "mlmon.out"}), kTable);
}

// The executable would wait for ever if mlprof kept the other end of the pipe open.
TEST_F(MlprofTest, ExecutableThatReadsItsInput) {
  WriteScript("reads", "cat > /dev/null; exec ./prog");
  EXPECT_EQ(Out({"reads", "mlmon.out"}), kTable);
}

TEST_F(MlprofTest, FilesAddUpFromBothSources) {
  Write("list", " mlmon.out\n\tmlmon.out ");
  const std::string out = Out({"-mlmon", "list", "prog", "mlmon.out"});
  EXPECT_EQ(out.substr(0, out.find('\n')), "270 bytes allocated (30 bytes by GC)");
}

TEST_F(MlprofTest, MissingListIsAnErrorEvenIfTolerant) {
  EXPECT_EQ(Error({"-tolerant", "true", "-mlmon", "none", "prog"}),
            "Io: openIn \"none\" failed with SysErr: No such file or "
            "directory [noent]\n");
}

TEST_F(MlprofTest, LaterListsComeFirst) {
  Write("list1", "missing1");
  Write("list2", "missing2");
  EXPECT_EQ(Error({"-mlmon", "list1", "-mlmon", "list2", "prog"}),
            "Error loading mlmon file 'missing2': Io: openIn \"missing2\" "
            "failed with SysErr: No such file or directory [noent]\n");
}

TEST_F(MlprofTest, BrokenFileIsAnErrorOrAWarning) {
  Write("broken", "MLton prof\n");
  const std::string message =
      "Error loading mlmon file 'broken': Fail: unexpected end of mlmon "
      "file\n";
  EXPECT_EQ(Error({"prog", "mlmon.out", "broken"}), message);
  const Result result = RunMlprof({"-tolerant", "true", "prog", "broken", "mlmon.out"});
  EXPECT_TRUE(result.success);
  EXPECT_EQ(result.err, message);
  EXPECT_EQ(result.out, kTable);
}

TEST_F(MlprofTest, OtherBuildsProfileIsRefused) {
  Mlmon other = testing::SmallProfile();
  other.magic = 1;
  Write("other.out", FormatMlmon(other));
  EXPECT_EQ(Error({"prog", "other.out"}),
            "Error loading mlmon file 'other.out': Fail: wrong magic "
            "number\n");
  other = testing::SmallProfile();
  other.style = ProfileStyle::kCurrent;
  Write("other.out", FormatMlmon(other));
  EXPECT_EQ(Error({"prog", "mlmon.out", "other.out"}),
            "Error loading mlmon file 'other.out': Fail: cannot merge "
            "-profile-stack false with -profile-stack true\n");
}

// The lengths of the first file are not compared with the executable's until it is shown.  MLton's
// mlprof dies of such a file.
TEST_F(MlprofTest, FirstFileOfAnotherLength) {
  Mlmon other = testing::SmallProfile();
  other.splits.pop_back();
  Write("other.out", FormatMlmon(other));
  const std::string message =
      "the profile has counts for 4 sources and 5 names, but 'prog' has 5 "
      "and 5; profile this build of it again\n";
  EXPECT_EQ(Error({"prog", "other.out"}), message);
  EXPECT_EQ(Error({"-tolerant", "true", "prog", "other.out"}), message);
  EXPECT_EQ(Error({"prog", "mlmon.out", "other.out"}),
            "Error loading mlmon file 'other.out': Fail: Vector.map2i\n");
}

TEST_F(MlprofTest, DirectoryInsteadOfAProfile) {
  EXPECT_EQ(Error({"prog", "."}),
            "Error loading mlmon file '.': Io: inputLine \".\" failed with "
            "SysErr: Is a directory [isdir]\n");
}

TEST_F(MlprofTest, GraphAndItsTitle) {
  EXPECT_EQ(Out({"-call-graph", "g.dot", "-keep", "\"A.g\"", "prog", "mlmon.out"}).substr(0, 2),
            "90");
  EXPECT_EQ(testing::ReadFileOrDie("g.dot"),
            "digraph \"prog call-stack graph\" {\n"
            "label = \"prog call-stack graph\"\n"
            "n0 [shape = \"box\", label = \"A.g\\n30.0% 40.0% 10.0%\\n\", "
            "color = \"Black\"]\n"
            "n0 -> n0 []\n}");
  struct stat status;
  ASSERT_EQ(stat("g.dot", &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  Out({"-call-graph", "g.dot", "-graph-title", "T", "./prog", "mlmon.out"});
  EXPECT_EQ(testing::ReadFileOrDie("g.dot").substr(0, 13), "digraph \"T\" {");
}

TEST_F(MlprofTest, UnwritableGraph) {
  EXPECT_EQ(Error({"-call-graph", "no/g.dot", "prog", "mlmon.out"}),
            "cannot write no/g.dot: No such file or directory; create the "
            "directory or choose another output\n");
  EXPECT_EQ(Error({"-call-graph", "/dev/full", "prog", "mlmon.out"}),
            "cannot write /dev/full: No space left on device; make room or "
            "choose another output\n");
}

// MLton's mlprof dies of such a percentage (Dot.gray).
TEST_F(MlprofTest, GrayAboveAHundredPercentLeavesTheOldGraph) {
  Write("g.dot", "old");
  Mlmon profile = testing::SmallProfile();
  profile.masters[3].stack = 200;
  Write("mlmon.out", FormatMlmon(profile));
  EXPECT_EQ(Error({"-gray", "true", "-call-graph", "g.dot", "prog", "mlmon.out"}),
            "-gray: 'A.f' has 200.0% on the stack, which no gray can show; "
            "leave out -gray\n");
  EXPECT_EQ(testing::ReadFileOrDie("g.dot"), "old");
  EXPECT_NE(Out({"-gray", "true", "prog", "mlmon.out"}), "");
}

}  // namespace
}  // namespace allomon::mlprof
