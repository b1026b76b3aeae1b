// The texts made of a table: help, a manual page, completions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/options/documents.h"

namespace allomon::options {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CommandText Paint() {
  CommandText text;
  text.name = "paint";
  text.summary = "paint a file";
  text.usages = {"[options] FILE"};
  text.description = {
      "Paints FILE.  It's done at once, and .never later, in a line that is long "
      "enough to be broken into two."};
  text.words = Words::kFiles;
  text.groups = {{"", 0, {{{"-o", "--output"}, "FILE", "x.out", "the picture.", false}}},
                 {"Of colours",
                  0,
                  {{{"--color"},
                    Argument("COLOR", {{"red", "like [blood]: 'dark'"}, {"blue", "like \\skies"}}),
                    "",
                    "paint.  A second sentence",
                    false},
                   {{"--shade"}, "", "", "an old name", true}}}};
  text.terms = {{"BRUSH", ""}, {"TIME", "as `date` says"}};
  text.statuses = {{"0", "painted"}, {"2", "bad input"}};
  text.examples = {{"allomon paint -o - x", "to standard output"}};
  return text;
}

ProgramText Program() {
  static const CommandText paint = Paint();
  return {"allomon", "do things", {"Does things."}, {&paint}};
}

TEST(HelpTest, LinesFitAndAllIsThere) {
  const std::string help = HelpOf(Paint());
  EXPECT_THAT(help, StartsWith("usage: allomon paint [options] FILE\n  Paints FILE."));
  EXPECT_THAT(help, HasSubstr("\n  -o, --output=FILE  the picture.  Default x.out.\n"));
  EXPECT_THAT(help, HasSubstr("\n  Of colours:\n  --color=COLOR      paint.  A second sentence\n"));
  EXPECT_THAT(help, HasSubstr("\n                     red   like [blood]: 'dark'\n"));
  EXPECT_THAT(help, HasSubstr("  $ allomon paint -o - x\n      to standard output\n"));
  EXPECT_THAT(help, HasSubstr("Status 0: painted; 2: bad input.\n"));
  EXPECT_THAT(help, Not(HasSubstr("--shade")));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(ManPageTest, NothingOfATextIsARequest) {
  const std::string page = ManPageOf(Paint(), Program());
  EXPECT_THAT(page, StartsWith(".TH \"ALLOMON\\-PAINT\" 1 "));
  EXPECT_THAT(page, HasSubstr("\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fIFILE\\fR\n"));
  EXPECT_THAT(page, HasSubstr("like \\eskies"));
  EXPECT_THAT(page, HasSubstr("as \\(gadate\\(ga says"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fBBRUSH\\fR\n\\&\n"));
  // Options without a title in common have no heading, unless they follow others that have one.
  EXPECT_THAT(page, HasSubstr(".SH OPTIONS\n.TP\n"));
  EXPECT_THAT(page, HasSubstr(".SS \"Of colours\"\n"));
  EXPECT_THAT(page, Not(HasSubstr(".SS \"Other\"")));
  EXPECT_THAT(page, Not(HasSubstr("shade")));
  EXPECT_THAT(ManPageOf(Program()), HasSubstr(".BR allomon\\-paint (1)\npaint a file\n"));
}

TEST(CompletionTest, TextsAreQuoted) {
  const std::string zsh = CompletionOf(Program(), Shell::kZsh);
  EXPECT_THAT(zsh, HasSubstr("'*--color=[paint]:value:(red blue)'"));
  EXPECT_THAT(zsh, HasSubstr("'*--output=[the picture]:FILE:_files'"));
  const std::string fish = CompletionOf(Program(), Shell::kFish);
  EXPECT_THAT(fish, HasSubstr(" -l color -x -a 'red blue' -d 'paint'\n"));
  EXPECT_THAT(fish, HasSubstr(" -s o -l output -rF -d 'the picture'\n"));
  const std::string names[] = {"  explain) options='' words='paint explain'",
                               "'1:command:(paint explain)'",
                               "'__fish_seen_subcommand_from explain' -f -a 'paint explain'"};
  CommandText explain;
  explain.name = "explain";
  explain.words = Words::kCommand;
  ProgramText two = Program();
  two.commands.push_back(&explain);
  EXPECT_THAT(CompletionOf(two, Shell::kBash), HasSubstr(names[0]));
  EXPECT_THAT(CompletionOf(two, Shell::kZsh), HasSubstr(names[1]));
  EXPECT_THAT(CompletionOf(two, Shell::kFish), HasSubstr(names[2]));
  for (const Shell shell : {Shell::kBash, Shell::kZsh, Shell::kFish}) {
    EXPECT_THAT(CompletionOf(Program(), shell), Not(HasSubstr("shade")));
  }
}

}  // namespace
}  // namespace allomon::options
