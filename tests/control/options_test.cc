// Command lines of `allomon ctl` and related commands.
#include "tools/control/options.h"

#include <gtest/gtest.h>

namespace allomon::control {
namespace {

std::string ErrorOf(const std::vector<std::string>& args) {
  return std::string(ParseCtlOptions(args).status().message());
}

TEST(CtlOptionsTest, RateIsAWordOrAnOption) {
  const auto word = ParseCtlOptions({"12", "rate", "1e-3"});
  ASSERT_TRUE(word.ok());
  EXPECT_EQ(word->pid, 12u);
  EXPECT_EQ(word->rate.samples_per_word, 1e-3);
  const auto option = ParseCtlOptions({"12", "start", "--every=8000"});
  ASSERT_TRUE(option.ok());
  EXPECT_EQ(option->rate.samples_per_word, 1e-3);
  EXPECT_FALSE(ParseCtlOptions({"12", "start"})->rate.samples_per_word.has_value());
}

TEST(CtlOptionsTest, TwoRatesAreAContradiction) {
  EXPECT_EQ(ErrorOf({"12", "start", "--rate=1e-3", "--exact"}), "--rate and --exact: choose one");
  EXPECT_EQ(ErrorOf({"12", "rate", "1e-3", "--every=8k"}), "rate and --every: choose one");
  EXPECT_EQ(ParseCtlOptions({"12", "start", "--rate=1", "--rate=.5"})->rate.samples_per_word, 0.5);
}

// No command reads a larger recording.
TEST(CtlOptionsTest, LimitIsWhatReadersTake) {
  EXPECT_EQ(ParseCtlOptions({"12", "start", "--limit=2g"})->limit_bytes, uint64_t{2} << 30);
  EXPECT_EQ(ParseCtlOptions({"12", "start", "--limit=1048577"})->limit_bytes, 1u << 20);
  EXPECT_EQ(ErrorOf({"12", "start", "--limit=2049m"}),
            "--limit: \"2049m\" is not a size from 1m to 2g, such as 256m");
}

TEST(CtlOptionsTest, MistakesAreNamed) {
  EXPECT_EQ(ErrorOf({}), "name a process by its id; allomon list shows them");
  EXPECT_EQ(ErrorOf({"x"}), "\"x\" is not the id of a process; allomon list shows them");
  EXPECT_EQ(ErrorOf({"0"}), "\"0\" is not the id of a process; allomon list shows them");
  EXPECT_EQ(ErrorOf({"-5"}), "unknown option -5; --help lists them");
  EXPECT_EQ(ErrorOf({"4294967296"}),
            "\"4294967296\" is not the id of a process; allomon list shows them");
  EXPECT_EQ(ErrorOf({"12"}), "what to do? start, stop, rate R or status");
  EXPECT_EQ(ErrorOf({"12", "begin"}),
            "\"begin\": expected allomon ctl PID start, stop, rate R or status");
  EXPECT_EQ(ErrorOf({"12", "rate"}), "rate needs a number, such as 1e-3");
  EXPECT_EQ(ErrorOf({"12", "rate", "2"}),
            "--rate: \"2\" is not a number of samples per word, above 0 and at most 1");
  EXPECT_EQ(ErrorOf({"12", "start", "stop"}),
            "\"stop\": expected allomon ctl PID start, stop, rate R or status");
  EXPECT_EQ(ErrorOf({"12", "start", "--limit=1k"}),
            "--limit: \"1k\" is not a size from 1m to 2g, such as 256m");
  EXPECT_EQ(ErrorOf({"12", "start", "--wait=soon"}), "--wait: \"soon\" is not a number of seconds");
}

// The process has another current folder.
TEST(CtlOptionsTest, ARelativePathIsRefused) {
  EXPECT_EQ(ErrorOf({"12", "start", "--record=x.rec"}),
            "--record: \"x.rec\" is not a path from the root folder, such as /tmp/server.rec");
}

TEST(TopOptionsTest, OptionsOfReportsArePassedOn) {
  const auto options = ParseTopOptions({"7", "--metric=peak", "--top", "3", "--width=60"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->report, (std::vector<std::string>{"--metric=peak", "--top=3", "--width=60"}));
}

// Before the process is asked to record.
TEST(TopOptionsTest, MistakesOfReportsOptionsAreNamed) {
  EXPECT_EQ(
      ParseTopOptions({"7", "--metric=bogus"}).status().message(),
      "--metric: \"bogus\" is not alloc, live, peak, temporary, blocks, promoted or died-young");
  EXPECT_EQ(ParseTopOptions({"7", "--focus=("}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TopOptionsTest, PresetsAreThoseOfTop) {
  const options::OptionText* const rows = options::FindOption(TopCommand().Text(), "--top");
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->preset, "what fits the terminal, 20 elsewhere");
}

}  // namespace
}  // namespace allomon::control
