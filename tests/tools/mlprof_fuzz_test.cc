#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/profile/golden_files.h"
#include "tests/profile/mutator.h"
#include "tools/mlprof/dot.h"
#include "tools/mlprof/keep.h"
#include "tools/mlprof/selection.h"
#include "tools/mlprof/table.h"
#include "tools/text/regexp.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon::mlprof {
namespace {

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
