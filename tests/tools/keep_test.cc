#include "tools/mlprof/keep.h"

#include <gtest/gtest.h>

#include <string>

namespace allomon::mlprof {
namespace {

// The calls: main -> a -> b -> c, and b -> a.  Nobody calls d.  e has two sources, one called by c
// and one by d.
Program MakeProgram() {
  Program program;
  program.file = "prog";
  for (const char* name : {"main", "a", "b", "c", "d"}) {
    program.table.names.push_back({name, std::string(name) + ".cc: 1"});
  }
  program.table.names.push_back({"e", ""});
  program.table.sources = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {5, 5}};
  program.table.sequences = {{1}, {2}, {3, 1}, {5}, {6}, {}};
  program.is_split.resize(6, false);
  return program;
}

class KeepTest : public ::testing::Test {
 protected:
  // The kept sources, each as the first letter of its name.  The second source of e is an E.
  std::string Kept(const std::string& text) {
    KeepExpression keep;
    std::string error;
    if (!ParseKeep(text, &keep, &error)) return "error: " + error;
    const ProfileView view(program_, data_);
    const std::vector<bool> kept = KeptSources(keep, view);
    std::string letters;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) letters.push_back("mabcdeE"[i]);
    }
    return letters;
  }

  Program program_ = MakeProgram();
  std::optional<Mlmon> data_;
};

TEST_F(KeepTest, AndOfNothingIsAllOrOfNothingIsNone) {
  EXPECT_EQ(Kept("all"), "mabcdeE");
  EXPECT_EQ(Kept("(and)"), "mabcdeE");
  EXPECT_EQ(Kept("(or)"), "");
  EXPECT_EQ(Kept("(not (or))"), "mabcdeE");
}

TEST_F(KeepTest, NamesMatchByPrefixOfNameTwoBlanksPosition) {
  EXPECT_EQ(Kept("\"a\""), "a");
  EXPECT_EQ(Kept("\"a  a.cc\""), "a");
  EXPECT_EQ(Kept("\"a a.cc\""), "") << "one blank, as MLton's guide has it";
  EXPECT_EQ(Kept("\".*\\\\.cc\""), "mabcd");
  EXPECT_EQ(Kept("\"e$\""), "eE");
}

TEST_F(KeepTest, BooleanOperators) {
  EXPECT_EQ(Kept("(or \"a\" \"c\" \"x\")"), "ac");
  EXPECT_EQ(Kept("(and (or \"a\" \"c\") (not \"a\"))"), "c");
}

TEST_F(KeepTest, PathsIncludeTheirEnd) {
  EXPECT_EQ(Kept("(from \"a\")"), "abce");
  EXPECT_EQ(Kept("(to \"a\")"), "mab");
  EXPECT_EQ(Kept("(pred \"a\")"), "mab");
  EXPECT_EQ(Kept("(succ \"b\")"), "abc");
  EXPECT_EQ(Kept("(to \"e\")"), "mabcdeE");
  EXPECT_EQ(Kept("(and (from \"a\") (to \"b\"))"), "ab");
  EXPECT_EQ(Kept("(from (or))"), "");
}

TEST_F(KeepTest, ThresholdsAreInclusiveAndPerColumn) {
  data_.emplace();
  data_->style = ProfileStyle::kStack;
  data_->total = 100;
  data_->splits.resize(7);
  data_->masters.resize(6);
  data_->masters[1] = {20, 50, 5};
  data_->masters[2] = {10, 60, 0};
  EXPECT_EQ(Kept("(thresh 20)"), "a");
  EXPECT_EQ(Kept("(thresh 20.1)"), "");
  EXPECT_EQ(Kept("(thresh-stack 50)"), "ab");
  EXPECT_EQ(Kept("(thresh-gc 5)"), "a");
  EXPECT_EQ(Kept("(thresh 0)"), "mabcdeE");
}

TEST_F(KeepTest, ThresholdOfASplitNameIsPerSource) {
  data_.emplace();
  data_->total = 100;
  data_->splits.resize(7);
  data_->masters.resize(6);
  data_->splits[5] = {30, 0, 0};
  data_->splits[6] = {5, 0, 0};
  data_->masters[5] = {35, 0, 0};
  EXPECT_EQ(Kept("(thresh 35)"), "eE");
  program_.is_split[5] = true;
  EXPECT_EQ(Kept("(thresh 35)"), "");
  EXPECT_EQ(Kept("(thresh 30)"), "e");
}

TEST_F(KeepTest, WithoutDataEverythingIsZeroPercent) {
  EXPECT_EQ(Kept("(thresh 0)"), "mabcdeE");
  EXPECT_EQ(Kept("(thresh 1)"), "");
}

TEST_F(KeepTest, CommentsAndTextBehindTheExpression) {
  EXPECT_EQ(Kept("; all of it\n \"a\" (nonsense"), "a");
  EXPECT_EQ(Kept("(or \"a\";)\n \"b\")"), "ab");
  EXPECT_EQ(Kept("(or\"a\"\"b\")"), "ab");
  EXPECT_EQ(Kept("all\"x"), "mabcdeE");
}

TEST_F(KeepTest, ErrorsOfTheNotation) {
  EXPECT_EQ(Kept(""), "error: empty");
  EXPECT_EQ(Kept(" ; all"), "error: empty");
  EXPECT_EQ(Kept("(and"), "error: unmatched (");
  EXPECT_EQ(Kept("(and ;)"), "error: unmatched (");
  EXPECT_EQ(Kept(")"), "error: unmatched )");
  EXPECT_EQ(Kept("\"abc"), "error: eof in middle of string");
  EXPECT_EQ(Kept("\"abc\\"), "error: eof in middle of string");
}

TEST_F(KeepTest, ErrorsShowTheSmallestWrongExpression) {
  EXPECT_EQ(Kept("everything"), "error: everything");
  EXPECT_EQ(Kept("()"), "error: ()");
  EXPECT_EQ(Kept("(\"a\" all)"), "error: (\"a\" all)");
  EXPECT_EQ(Kept("(and all (not))"), "error: (not)");
  EXPECT_EQ(Kept("(not all  all)"), "error: (not all all)");
  EXPECT_EQ(Kept("(or all \"a\\\\(\")"), "mabcdeE");
  EXPECT_EQ(Kept("(or all \"a(\\\"\\\\\")"), "error: \"a(\"\"\\\\\"");
}

TEST_F(KeepTest, ThresholdsOutsideZeroToAHundred) {
  EXPECT_EQ(Kept("(thresh 101)"), "error: (thresh 101)");
  EXPECT_EQ(Kept("(thresh ~1)"), "error: (thresh ~1)");
  EXPECT_EQ(Kept("(thresh nan)"), "error: (thresh nan)");
  EXPECT_EQ(Kept("(thresh x)"), "error: (thresh x)");
  EXPECT_EQ(Kept("(thresh)"), "error: (thresh)");
  EXPECT_EQ(Kept("(thresh \"1\")"), "error: (thresh \"1\")");
}

TEST_F(KeepTest, DeepNestingIsRefusedNotACrash) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "(not ";
  EXPECT_EQ(Kept(deep), "error: nested too deeply");
  std::string fine = "all";
  for (int i = 0; i < 400; ++i) fine = "(not " + fine + ")";
  EXPECT_EQ(Kept(fine), "mabcdeE");
}

}  // namespace
}  // namespace allomon::mlprof
