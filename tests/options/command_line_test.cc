// Command lines as users type them: options in both forms, a lone dash, the end of options, and
// mistakes.
#include "tools/options/command_line.h"

#include <gtest/gtest.h>

#include "tools/options/values.h"

namespace allomon::options {
namespace {

struct Seen {
  bool quiet = false;
  std::string out;
  std::vector<std::string> words;
};

constexpr Flag<Seen> kFlags[] = {{"--quiet", [](Seen* seen) { seen->quiet = true; }}};
constexpr ValueOption<Seen> kValues[] = {{"--out", [](const std::string& value, Seen* seen) {
                                            seen->out = value;
                                            return value.empty() ? Bad("--out: empty")
                                                                 : absl::OkStatus();
                                          }}};
absl::Status AddWord(const std::string& word, Seen* seen) {
  seen->words.push_back(word);
  return absl::OkStatus();
}

std::string Parse(const std::vector<std::string>& args, Seen* seen,
                  Order order = Order::kAnywhere) {
  const Tables<Seen> tables(kFlags, kValues, AddWord);
  return std::string(ParseCommandLine(args, tables, seen, order).message());
}

using Words = std::vector<std::string>;

TEST(CommandLineTest, OptionsStandAnywhereInBothForms) {
  Seen seen;
  EXPECT_EQ(Parse({"a", "--out", "x", "b", "--quiet", "--out=y=z"}, &seen), "");
  EXPECT_TRUE(seen.quiet);
  EXPECT_EQ(seen.out, "y=z");
  EXPECT_EQ(seen.words, (Words{"a", "b"}));
}

TEST(CommandLineTest, ALoneDashIsAWord) {
  Seen seen;
  EXPECT_EQ(Parse({"-"}, &seen), "");
  EXPECT_EQ(seen.words, Words{"-"});
}

TEST(CommandLineTest, BehindTwoDashesAllAreWords) {
  Seen seen;
  EXPECT_EQ(Parse({"--", "--quiet", "--"}, &seen), "");
  EXPECT_FALSE(seen.quiet);
  EXPECT_EQ(seen.words, (Words{"--quiet", "--"}));
}

TEST(CommandLineTest, AnotherProgramsOptionsAreItsOwn) {
  Seen seen;
  EXPECT_EQ(Parse({"--quiet", "ls", "--out", "-l"}, &seen, Order::kBeforeWords), "");
  EXPECT_TRUE(seen.quiet);
  EXPECT_EQ(seen.words, (Words{"ls", "--out", "-l"}));
}

TEST(CommandLineTest, MistakesAreNamed) {
  Seen seen;
  EXPECT_EQ(Parse({"--silent"}, &seen), "unknown option --silent; --help lists them");
  EXPECT_EQ(Parse({"--quiet=1"}, &seen), "unknown option --quiet=1; --help lists them");
  EXPECT_EQ(Parse({"--out"}, &seen), "--out needs a value");
  EXPECT_EQ(Parse({"--out="}, &seen), "--out: empty");
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
