// Command lines as users type them: options in both forms, a lone dash, the end of options, and
// mistakes.
#include "tools/options/command_line.h"

#include <gtest/gtest.h>

#include "tools/options/choices.h"
#include "tools/options/values.h"

namespace allomon::options {
namespace {

enum class Color { kRed, kBlue };
constexpr Choice<Color> kColors[] = {{"red", Color::kRed}, {"blue", Color::kBlue}};

struct Seen : Common {
  bool quiet = false;
  std::string out;
  Color color = Color::kRed;
  std::vector<std::string> words;
};

absl::Status AddWord(const std::string& word, Seen* seen) {
  seen->words.push_back(word);
  return absl::OkStatus();
}

absl::Status Check(const Seen& seen) {
  return seen.words.empty() ? Bad("no words") : absl::OkStatus();
}

Command<Seen> Made(Words words = Words::kFiles) {
  CommandText text;
  text.name = "see";
  text.words = words;
  return Command<Seen>(text,
                       {{"", {{"-q, --quiet", "says nothing", &Seen::quiet}}},
                        {"Of colours",
                         {{"--out", "FILE", "", "the output", &Seen::out},
                          {"--color", OneOf(kColors), "red", "paint",
                           [](const std::string& value, Seen* seen) {
                             return Choose(kColors, "--color", value, &seen->color);
                           }}},
                         /*inputs=*/2}},
                       AddWord, Check);
}

std::string Parse(const std::vector<std::string>& args, Seen* seen, Words words = Words::kFiles) {
  const auto parsed = Made(words).Parse(args);
  if (parsed.ok()) *seen = *parsed;
  return std::string(parsed.status().message());
}

using List = std::vector<std::string>;

TEST(CommandLineTest, OptionsStandAnywhereInBothForms) {
  Seen seen;
  EXPECT_EQ(Parse({"a", "--out", "x", "b", "-q", "--out=y=z", "--color=blue"}, &seen), "");
  EXPECT_TRUE(seen.quiet);
  EXPECT_EQ(seen.out, "y=z");
  EXPECT_EQ(seen.color, Color::kBlue);
  EXPECT_EQ(seen.words, (List{"a", "b"}));
}

TEST(CommandLineTest, ALoneDashIsAWord) {
  Seen seen;
  EXPECT_EQ(Parse({"-"}, &seen), "");
  EXPECT_EQ(seen.words, List{"-"});
}

TEST(CommandLineTest, BehindTwoDashesAllAreWords) {
  Seen seen;
  EXPECT_EQ(Parse({"--", "--quiet", "--"}, &seen), "");
  EXPECT_FALSE(seen.quiet);
  EXPECT_EQ(seen.words, (List{"--quiet", "--"}));
}

TEST(CommandLineTest, AnotherProgramsOptionsAreItsOwn) {
  Seen seen;
  EXPECT_EQ(Parse({"--quiet", "ls", "--out", "-l"}, &seen, Words::kProgram), "");
  EXPECT_TRUE(seen.quiet);
  EXPECT_EQ(seen.words, (List{"ls", "--out", "-l"}));
}

TEST(CommandLineTest, MistakesAreNamed) {
  Seen seen;
  EXPECT_EQ(Parse({"--silent"}, &seen), "unknown option --silent; --help lists them");
  EXPECT_EQ(Parse({"--colour=red"}, &seen),
            "unknown option --colour=red; did you mean --color? --help lists them");
  EXPECT_EQ(Parse({"--quiet=1"}, &seen), "--quiet takes no value, as in --quiet=1");
  EXPECT_EQ(Parse({"--out"}, &seen), "--out needs a value");
  EXPECT_EQ(Parse({"--out="}, &seen), "--out needs a value");
  EXPECT_EQ(Parse({"--color=green"}, &seen), "--color: \"green\" is not red or blue");
}

TEST(CommandLineTest, HelpAndVersionNeedNothingElse) {
  Seen seen;
  EXPECT_EQ(Parse({}, &seen), "no words");
  EXPECT_EQ(Parse({"-h"}, &seen), "");
  EXPECT_TRUE(seen.help);
  EXPECT_EQ(Parse({"--version"}, &seen), "");
  EXPECT_TRUE(seen.version);
}

TEST(CommandLineTest, WhatWasGivenIsKnownWithItsInputs) {
  Seen seen;
  EXPECT_EQ(Parse({"-q", "--out", "x", "--color=blue", "w"}, &seen), "");
  ASSERT_EQ(seen.given.size(), 3u);
  EXPECT_EQ(seen.given[0].inputs, 0u);
  EXPECT_EQ(seen.given[1].word, "--out");
  EXPECT_EQ(seen.given[1].value, "x");
  EXPECT_EQ(seen.given[2].word, "--color=blue");
  EXPECT_EQ(seen.given[2].name, "--color");
  EXPECT_EQ(seen.given[2].inputs, 2u);
}

TEST(NearestTest, SlipsAndBeginningsAreFound) {
  const List names = {"--metric", "--view", "--focus", "--focus-label", "--top", "-o"};
  EXPECT_EQ(Nearest("--metrik", names), "--metric");
  EXPECT_EQ(Nearest("--mertic", names), "--metric");
  EXPECT_EQ(Nearest("--met", names), "--metric");
  EXPECT_EQ(Nearest("-metric", names), "--metric");
  EXPECT_EQ(Nearest("--vew", names), "--view");
  EXPECT_EQ(Nearest("--focus-lable", names), "--focus-label");
}

TEST(NearestTest, NothingIsGuessed) {
  const List names = {"--metric", "--view", "--focus", "--focus-label", "--top", "-o"};
  EXPECT_EQ(Nearest("--frobnicate", names), "");
  EXPECT_EQ(Nearest("--foc", names), "");  // two begin so
  EXPECT_EQ(Nearest("-x", names), "");
  EXPECT_EQ(Nearest("--tip-top", names), "");
  EXPECT_EQ(Nearest("--" + std::string(10000, 'x'), names), "");
}

TEST(ValuesTest, BytesHaveSuffixesAndDoNotWrap) {
  uint64_t bytes = 0;
  EXPECT_TRUE(ParseBytes("512k", &bytes));
  EXPECT_EQ(bytes, 524288u);
  EXPECT_TRUE(ParseBytes("2G", &bytes));
  EXPECT_EQ(bytes, uint64_t{2} << 30);
  for (const char* bad : {"", "k", "-1", "1 k", "1kk", "17179869184g", "18446744073709551616"}) {
    EXPECT_FALSE(ParseBytes(bad, &bytes)) << bad;
  }
}

TEST(ValuesTest, RatesAreAboveZeroAndAtMostOne) {
  double rate = 0;
  EXPECT_TRUE(ParseRate("1", &rate).ok());
  for (const char* bad : {"0", "-1", "1.1", "nan", "inf", "", "1e-4x"}) {
    EXPECT_FALSE(ParseRate(bad, &rate).ok()) << bad;
  }
  EXPECT_TRUE(ParseEvery("80000", &rate).ok());
  EXPECT_DOUBLE_EQ(rate, 1e-4);
  EXPECT_FALSE(ParseEvery("7", &rate).ok());
}

}  // namespace
}  // namespace allomon::options
