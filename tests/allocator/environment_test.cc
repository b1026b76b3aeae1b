#include "allocator/environment.h"

#include <initializer_list>
#include <vector>

#include "gtest/gtest.h"

namespace allomon {
namespace {

struct Outcome {
  bool ok;
  EnvironmentOptions options;
  std::string error;
};

Outcome Read(std::initializer_list<const char*> variables) {
  std::vector<char*> list;
  for (const char* variable : variables) list.push_back(const_cast<char*>(variable));
  list.push_back(nullptr);
  Outcome outcome;
  outcome.ok = ReadEnvironment(list.data(), &outcome.options, &outcome.error);
  return outcome;
}

TEST(EnvironmentTest, NothingSetMeansTheDefaults) {
  const Outcome outcome = Read({"HOME=/", "PATH"});
  EXPECT_TRUE(outcome.ok);
  EXPECT_EQ(outcome.options.rate, 1e-4);
  EXPECT_EQ(outcome.options.out, "mlmon.out");
}

TEST(EnvironmentTest, EverythingSetIsRead) {
  const Outcome outcome = Read({"ALLOMON_RATE=0.5", "ALLOMON_OUT=x",
                                "ALLOMON_SEED=18446744073709551615", "ALLOMON_SUMMARY=1"});
  ASSERT_TRUE(outcome.ok) << outcome.error;
  EXPECT_EQ(outcome.options.rate, 0.5);
  EXPECT_EQ(outcome.options.out, "x");
  EXPECT_EQ(outcome.options.seed, UINT64_MAX);
  EXPECT_TRUE(outcome.options.summary);
}

// Empty is an answer: not even the known wrappers.
TEST(EnvironmentTest, ExcludeThatIsEmptyIsNotTheOneThatIsNotSet) {
  EXPECT_FALSE(Read({"HOME=/"}).options.exclude.has_value());
  EXPECT_EQ(Read({"ALLOMON_EXCLUDE="}).options.exclude, "");
  EXPECT_EQ(Read({"ALLOMON_EXCLUDE=a,b::*"}).options.exclude, "a,b::*");
}

TEST(EnvironmentTest, WhatIsNotARateIsRefusedInOneLineThatSaysWhatIs) {
  for (const char* variable :
       {"ALLOMON_RATE=", "ALLOMON_RATE=abc", "ALLOMON_RATE=1e-4x", "ALLOMON_RATE= 1",
        "ALLOMON_RATE=0x1", "ALLOMON_RATE=nan", "ALLOMON_RATE=inf", "ALLOMON_RATE=2",
        "ALLOMON_RATE=-0.1", "ALLOMON_RATE=1e400"}) {
    const Outcome outcome = Read({variable});
    EXPECT_FALSE(outcome.ok) << variable;
    EXPECT_EQ(outcome.error.rfind(variable, 0), 0u) << outcome.error;
    EXPECT_NE(outcome.error.find("[0, 1]"), std::string::npos) << outcome.error;
    EXPECT_EQ(outcome.error.find('\n'), std::string::npos);
  }
}

TEST(EnvironmentTest, GuardIsOneInSoMany) {
  EXPECT_EQ(Read({}).options.guard_one_in, 0u);
  EXPECT_EQ(Read({"ALLOMON_GUARD=no"}).options.guard_one_in, 0u);
  EXPECT_EQ(Read({"ALLOMON_GUARD=1/1"}).options.guard_one_in, 1u);
  const Outcome hundred = Read({"ALLOMON_GUARD=1/100"});
  ASSERT_TRUE(hundred.ok) << hundred.error;
  EXPECT_EQ(hundred.options.guard_one_in, 100u);
  EXPECT_FALSE(hundred.options.guard_goes_on);
  const Outcome report = Read({"ALLOMON_GUARD=1/1000000:report"});
  ASSERT_TRUE(report.ok) << report.error;
  EXPECT_EQ(report.options.guard_one_in, 1000000u);
  EXPECT_TRUE(report.options.guard_goes_on);
  for (const char* variable :
       {"ALLOMON_GUARD=", "ALLOMON_GUARD=1", "ALLOMON_GUARD=1/", "ALLOMON_GUARD=1/0",
        "ALLOMON_GUARD=1/1000001", "ALLOMON_GUARD=2/3", "ALLOMON_GUARD=1/4294967297",
        "ALLOMON_GUARD=:report", "ALLOMON_GUARD=1/10:reports"}) {
    EXPECT_FALSE(Read({variable}).ok) << variable;
  }
}

TEST(EnvironmentTest, SeedsThatDoNotFitAreRefused) {
  for (const char* variable :
       {"ALLOMON_SEED=", "ALLOMON_SEED=-1", "ALLOMON_SEED=18446744073709551616"}) {
    EXPECT_FALSE(Read({variable}).ok) << variable;
  }
}

TEST(EnvironmentTest, NameWithAnotherPercentIsRefused) {
  for (const char* variable :
       {"ALLOMON_OUT=", "ALLOMON_OUT=a.%q", "ALLOMON_OUT=%", "ALLOMON_OUT=%%%", "ALLOMON_OUT=%P"}) {
    const Outcome outcome = Read({variable});
    EXPECT_FALSE(outcome.ok) << variable;
    EXPECT_EQ(outcome.error.rfind(variable, 0), 0u) << outcome.error;
    EXPECT_NE(outcome.error.find("%p: the process id"), std::string::npos) << outcome.error;
  }
  EXPECT_TRUE(Read({"ALLOMON_OUT=a%%.%p%%"}).ok);
}

TEST(EnvironmentTest, TypingMistakeIsNotSilent) {
  const Outcome outcome = Read({"ALLOMON_RAET=1"});
  EXPECT_FALSE(outcome.ok);
  EXPECT_NE(outcome.error.find("ALLOMON_RAET"), std::string::npos);
  EXPECT_NE(outcome.error.find("ALLOMON_RATE"), std::string::npos);
}

TEST(EnvironmentTest, ProcessIdAndPercentAreExpanded) {
  EXPECT_EQ(ExpandOut("a.%p.%n.%%p.%q%", 42, 7), "a.42.7.%p.%q%");
  EXPECT_TRUE(NamesProcess("mlmon.%p.out"));
  EXPECT_FALSE(NamesProcess("mlmon.%%p.out"));
}

}  // namespace
}  // namespace allomon
