#include "tools/run/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace allomon::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options Parsed(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : Options();
}

std::string Error(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  EXPECT_FALSE(options.ok());
  const std::string message(options.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

double RateOf(const std::vector<std::string>& args) { return std::stod(Parsed(args).rate.text); }

TEST(OptionsTest, ProgramsOptionsAreTheProgramsOwn) {
  const Options options = Parsed({"--rate=0.5", "gcc", "--version", "--rate", "-o", "a.out"});
  EXPECT_THAT(options.command, ElementsAre("gcc", "--version", "--rate", "-o", "a.out"));
  EXPECT_EQ(options.out, "");
  EXPECT_FALSE(options.version);
}

TEST(OptionsTest, TwoDashesEndTheOptions) {
  EXPECT_THAT(Parsed({"--exact", "--", "-strange", "--"}).command, ElementsAre("-strange", "--"));
  EXPECT_THAT(Parsed({"--", "--", "x"}).command, ElementsAre("--", "x"));
  EXPECT_THAT(Parsed({"-"}).command, ElementsAre("-"));
}

TEST(OptionsTest, ValueStandsBehindTheNameOrTheEqualsSign) {
  for (const Options& options : {Parsed({"-o", "f", "--limit", "2m", "--seed=7", "ls"}),
                                 Parsed({"--out=f", "--limit=2M", "--seed", "7", "ls"})}) {
    EXPECT_EQ(options.out, "f");
    EXPECT_EQ(options.limit_bytes, 2u << 20);
    EXPECT_EQ(options.seed, "7");
    EXPECT_THAT(options.command, ElementsAre("ls"));
  }
}

TEST(OptionsTest, EveryIsARate) {
  EXPECT_DOUBLE_EQ(RateOf({"--every", "80000", "ls"}), 1e-4);
  EXPECT_DOUBLE_EQ(RateOf({"--every=512k", "ls"}), 8.0 / 524288);
  EXPECT_DOUBLE_EQ(RateOf({"--every=8", "ls"}), 1);
  EXPECT_DOUBLE_EQ(RateOf({"--exact", "ls"}), 1);
  EXPECT_FALSE(Parsed({"ls"}).rate.samples_per_word.has_value());
}

TEST(OptionsTest, LimitIsWholeSegments) {
  EXPECT_EQ(Parsed({"--limit=1048577", "ls"}).limit_bytes, 1u << 20);
}

TEST(OptionsTest, TwoRatesAreAContradiction) {
  EXPECT_THAT(Error({"--rate=1", "--exact", "ls"}), HasSubstr("--rate and --exact: choose one"));
  EXPECT_THAT(Error({"--every=1k", "--rate=1", "ls"}), HasSubstr("--every and --rate"));
  EXPECT_EQ(RateOf({"--rate=1", "--rate=0.5", "ls"}), 0.5);
}

TEST(OptionsTest, BadValueNamesTheOptionAndWhatItTakes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"--rate", {"0", "-1", "1.5", "nan", "inf", "1e-4x", "", "0x1", " 1"}},
      {"--every", {"7", "", "k", "1t", "-8", "99999999999999999999", "18446744073709551615k"}},
      {"--guard", {"0", "1/10", "1000001", ""}},
      {"--limit", {"1023k", "2049m", "64g", "", "x"}},
      {"--seed", {"", "-1", "18446744073709551616"}},
      {"-o", {"", "-"}},
  };
  for (const auto& [name, values] : cases) {
    for (const std::string& value : values) {
      const std::string error = Error({name, value, "ls"});
      EXPECT_THAT(error, HasSubstr(name + ": \"" + value + "\" is not "));
    }
    EXPECT_THAT(Error({name}), HasSubstr(name + " needs a value"));
  }
}

TEST(OptionsTest, NoProgramAndUnknownOptions) {
  EXPECT_THAT(Error({}), HasSubstr("no program"));
  EXPECT_THAT(Error({"--exact", "--"}), HasSubstr("no program"));
  EXPECT_THAT(Error({""}), HasSubstr("name is empty"));
  EXPECT_THAT(Error({"--rat=1", "ls"}),
              HasSubstr("unknown option --rat=1; did you mean --rate? --help"));
  EXPECT_THAT(Error({"--exact=1", "ls"}), HasSubstr("--exact takes no value"));
}

}  // namespace
}  // namespace allomon::run
