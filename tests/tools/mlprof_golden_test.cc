// mlprof on recorded data: repeats every recorded run of MLton's own mlprof, by the library and by
// the program (tables and graphs must agree to the last byte), and reads damaged files.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/profile/golden_files.h"
#include "tests/profile/mutator.h"
#include "tests/tools/fake_program.h"
#include "tools/mlprof/dot.h"
#include "tools/mlprof/keep.h"
#include "tools/mlprof/mlprof.h"
#include "tools/mlprof/profile_view.h"
#include "tools/mlprof/table.h"
#include "tools/text/regexp.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon::mlprof {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words;
  size_t start = 0;
  for (size_t end; (end = line.find(' ', start)) != std::string::npos; start = end + 1) {
    if (end > start) words.push_back(line.substr(start, end - start));
  }
  words.push_back(line.substr(start));
  return words;
}

bool IsBalanced(const std::string& text) {
  return std::count(text.begin(), text.end(), '(') == std::count(text.begin(), text.end(), ')');
}

// Splits a recorded line, which lacks quotes.  An argument of -keep goes on until its parentheses
// are closed, a title until the next option.
std::vector<std::string> Arguments(const std::string& line) {
  const std::vector<std::string> words = Words(line);
  std::vector<std::string> args;
  for (size_t i = 2; i < words.size();) {
    args.push_back(words[i++]);
    if (args.back() == "-keep") {
      args.push_back(words[i++]);
      while (!IsBalanced(args.back())) args.back() += " " + words[i++];
    } else if (args.back() == "-graph-title") {
      args.push_back(words[i++]);
      while (words[i][0] != '-') args.back() += " " + words[i++];
    }
  }
  return args;
}

class MlprofGoldenTest : public testing::FakeProgramTest {
 protected:
  // Makes this directory that of the golden case, with its executable under all names.
  void Enter(const fs::path& golden_case) {
    const std::string answer = testing::ReadFileOrDie(golden_case / "sources.txt");
    for (const char* name : {"fib-tak", "fib-tak-time", "list-rev", "list-rev-time"}) {
      Write(name, "#!/bin/sh\nexec tail -n +3 \"$0\"\n" + answer, 0755);
    }
    for (const auto& file : fs::directory_iterator(golden_case)) {
      if (file.path().extension() == ".out") {
        Write(file.path().filename(), testing::ReadFileOrDie(file.path()));
      }
    }
    fs::create_directory("out");
    case_ = golden_case;
  }

  static void Check(const fs::path& command) {
    const std::string text = testing::ReadFileOrDie(command);
    const std::string line = text.substr(0, text.find('\n'));
    ASSERT_EQ(text, line + "\nrc=0\n");
    const Result result = RunMlprof(Arguments(line));
    EXPECT_TRUE(result.success) << command << "\n" << result.err;
    EXPECT_EQ(result.out, Expected(command, ".txt")) << command;
    const fs::path dot = fs::path(command).replace_extension(".dot");
    if (!fs::exists(dot)) return;
    EXPECT_EQ(testing::ReadFileOrDie("out" / dot.filename()), testing::ReadFileOrDie(dot))
        << command;
  }

  static std::string Expected(fs::path command, const char* extension) {
    return testing::ReadFileOrDie(command.replace_extension(extension));
  }

  fs::path case_;
};

TEST_F(MlprofGoldenTest, EveryTableAndGraph) {
  int count = 0;
  for (const std::string& command : testing::GoldenFiles(".cmd")) {
    const fs::path golden_case = fs::path(command).parent_path().parent_path();
    if (golden_case != case_) Enter(golden_case);
    Check(command);
    ++count;
  }
  EXPECT_EQ(count, 402);
}

// Tests the command itself: which output goes where, and the exit status.

// The path is taken before any test changes the directory.
const std::string& Binary() {
  static const std::string& path =
      *new std::string(std::filesystem::current_path().string() + "/tools/mlprof/mlprof");
  return path;
}
[[maybe_unused]] const std::string& binary_at_start = Binary();

class MlprofBinaryTest : public testing::FakeProgramTest {
 protected:
  // Returns the exit status.  Output goes to the files `out` and `err`.
  static int Run(const std::string& args, const std::string& out = "out") {
    const int status = system((Binary() + " " + args + " >" + out + " 2>err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(MlprofBinaryTest, TableOnStandardOutput) {
  EXPECT_EQ(Run("prog mlmon.out"), 0);
  EXPECT_EQ(testing::ReadFileOrDie("out").substr(0, 9), "90 bytes ");
  EXPECT_EQ(testing::ReadFileOrDie("err"), "");
}

TEST_F(MlprofBinaryTest, ErrorOnStandardErrorAndExitStatusOne) {
  EXPECT_EQ(Run("missing mlmon.out"), 1);
  EXPECT_EQ(testing::ReadFileOrDie("out"), "");
  EXPECT_EQ(testing::ReadFileOrDie("err"), "Error: executable 'missing' does not exist.\n");
  EXPECT_EQ(Run(""), 1);
}

TEST_F(MlprofBinaryTest, WarningsOfATolerantRunExitWithZero) {
  EXPECT_EQ(Run("-tolerant true prog none mlmon.out"), 0);
  EXPECT_NE(testing::ReadFileOrDie("err"), "");
  EXPECT_NE(testing::ReadFileOrDie("out"), "");
}

TEST_F(MlprofBinaryTest, TableThatCannotBeWrittenIsNoSuccess) {
  EXPECT_EQ(Run("prog mlmon.out", "/dev/full"), 1);
  EXPECT_EQ(testing::ReadFileOrDie("err"),
            "mlprof: cannot write standard output: No space left on device\n");
}

TEST_F(MlprofBinaryTest, GraphOnStandardOutputComesBeforeTheTable) {
  EXPECT_EQ(Run("-call-graph /dev/stdout prog mlmon.out | cat"), 0);
  const std::string out = testing::ReadFileOrDie("out");
  EXPECT_EQ(out.substr(0, 7), "digraph");
  EXPECT_NE(out.find("}90 bytes"), std::string::npos);
}

using testing::kFuzzRounds;
using testing::kFuzzSeed;
using testing::Mutator;

class MlprofFuzzTest : public ::testing::Test {
 protected:
  const std::string answer_ =
      testing::ReadFileOrDie(testing::GoldenPath("fib-tak.alloc.stack-true/sources.txt"));
  const std::string profile_ =
      testing::ReadFileOrDie(testing::GoldenPath("fib-tak.alloc.stack-true/mlmon.out"));

  // False if the damage leaves nothing to report on.
  static bool Load(const std::string& answer, const std::string& profile, Program* program,
                   Mlmon* data) {
    std::string error;
    if (!ParseSources(answer, &program->table, &error) || !ParseMlmon(profile, data, &error)) {
      return false;
    }
    program->is_split.clear();
    for (size_t i = 0; i < program->table.names.size(); ++i) {
      program->is_split.push_back(i % 3 == 0);
    }
    return data->splits.size() == program->table.sources.size() &&
           data->masters.size() == program->table.names.size();
  }

  static void Report(const Program& program, const Mlmon& data, const KeepExpression& keep) {
    const ProfileView view(program, data);
    const Selection selection = Select(view, KeptSources(keep, view));
    EXPECT_NE(TotalsLine(view), "");
    EXPECT_NE(FormatTable(view, selection, true, true), "");
    DotStyle style;
    style.gray = style.raw = style.show_line = true;
    std::string dot, error;
    if (!FormatDot(view, selection, style, &dot, &error)) {
      EXPECT_NE(error, "");
    }
  }
};

TEST_F(MlprofFuzzTest, DamagedKeepExpressions) {
  const std::vector<std::string> seeds = {
      "(and (from \"f\") (not (or (to \"main\") \"a|b*\")))",
      "(or (thresh 5.0) (thresh-gc 0.1) (thresh-stack 10) (pred (succ all)))",
      "; comment\n(not \".*SML_LIB\")", "\"[[:alpha:]_]+(\\\\.fn|{2,3}x{1,}[^a-z]$)\""};
  Mutator mutator(kFuzzSeed, {"(", ")", "\"", "\\", ";", "all", "(and)", "~", "{9}", "[",
                              "[:", ":]", "[.", ".]", "^", "$"});
  Program program;
  Mlmon data;
  ASSERT_TRUE(Load(answer_, profile_, &program, &data));
  int accepted = 0;
  for (int i = 0; i < kFuzzRounds; ++i) {
    const std::string text = mutator.Mutate(seeds[i % seeds.size()]);
    KeepExpression keep;
    std::string error;
    if (!ParseKeep(text, &keep, &error)) {
      ASSERT_NE(error, "") << text;
      continue;
    }
    ++accepted;
    const ProfileView view(program, data);
    ASSERT_EQ(KeptSources(keep, view).size(), view.source_count()) << text;
  }
  EXPECT_GT(accepted, kFuzzRounds / 50);
}

TEST_F(MlprofFuzzTest, DamagedRegularExpressions) {
  Mutator mutator(kFuzzSeed,
                  {"(", ")", "*", "+", "?", "{2}", "{1,3}", "|", "[^", "]", "^", "$", "()", "\\"});
  int accepted = 0;
  for (int i = 0; i < kFuzzRounds; ++i) {
    const std::string pattern = mutator.Mutate("(ab|[c-e]*)+f?(^g{2,3}|h$)[[:digit:]]");
    const std::optional<Regexp> regexp = Regexp::Compile(pattern);
    if (!regexp) continue;
    ++accepted;
    for (const char* text : {"", "abcdef", "gghhh1", "\xff\n"}) {
      regexp->MatchesPrefix(text);
    }
  }
  EXPECT_GT(accepted, kFuzzRounds / 50);
}

// Damage that both readers accept must reach the report.
TEST_F(MlprofFuzzTest, ReportsOnDamagedProfiles) {
  Mutator mutator(kFuzzSeed, {"\n", "\t", " ", "-", "9999999999999999999", "\\", "\"", "0 "});
  KeepExpression keep;
  std::string error;
  ASSERT_TRUE(ParseKeep("(or (thresh 1) (succ \"f\"))", &keep, &error));
  int reported = 0;
  for (int i = 0; i < kFuzzRounds; ++i) {
    const bool damage_answer = i % 2 == 0;
    Program program;
    Mlmon data;
    if (!Load(damage_answer ? mutator.Mutate(answer_) : answer_,
              damage_answer ? profile_ : mutator.Mutate(profile_), &program, &data)) {
      continue;
    }
    Report(program, data, keep);
    ++reported;
  }
  EXPECT_GT(reported, kFuzzRounds / 50);
}

}  // namespace
}  // namespace allomon::mlprof
