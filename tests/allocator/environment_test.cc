#include "allocator/environment/environment.h"

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace allomon {
namespace {

struct Outcome {
  bool ok;
  EnvironmentOptions options;
  std::vector<std::string> remarks;
  std::string error;
};

Outcome Read(std::initializer_list<const char*> variables) {
  std::vector<char*> list;
  for (const char* variable : variables) list.push_back(const_cast<char*>(variable));
  list.push_back(nullptr);
  Outcome outcome;
  static std::vector<std::string> said;
  said.clear();
  const auto say = [](const std::string& line) { said.push_back(line); };
  outcome.ok = ReadEnvironment(list.data(), &outcome.options, say, &outcome.error);
  outcome.remarks = said;
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

// An empty value is valid: it excludes not even the known wrappers.
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
        "ALLOMON_GUARD=:report", "ALLOMON_GUARD=1/10:reports", "ALLOMON_GUARD=no:report"}) {
    EXPECT_FALSE(Read({variable}).ok) << variable;
  }
}

TEST(EnvironmentTest, InPlaceIsOneInSoMany) {
  EXPECT_EQ(Read({}).options.in_place_one_in, 0u);
  EXPECT_EQ(Read({"ALLOMON_IN_PLACE=no"}).options.in_place_one_in, 0u);
  EXPECT_EQ(Read({"ALLOMON_IN_PLACE=1/16"}).options.in_place_one_in, 16u);
  EXPECT_EQ(Read({"ALLOMON_IN_PLACE=1/1000000"}).options.in_place_one_in, 1000000u);
  for (const char* variable :
       {"ALLOMON_IN_PLACE=", "ALLOMON_IN_PLACE=16", "ALLOMON_IN_PLACE=1/0", "ALLOMON_IN_PLACE=1/",
        "ALLOMON_IN_PLACE=1/1000001", "ALLOMON_IN_PLACE=2/3", "ALLOMON_IN_PLACE=1/4294967297",
        "ALLOMON_IN_PLACE=1/16:report"}) {
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

TEST(EnvironmentTest, VariablesOfOtherComponentsArePassedOver) {
  const Outcome outcome = Read({"ALLOMON_HEAP=verify", "ALLOMON_LIBRARY=/x.so", "ALLOMON_TOKEN=t",
                                "ALLOMON_GATE_PROFILE=p.json", "ALLOMON_RATE=0.5"});
  ASSERT_TRUE(outcome.ok) << outcome.error;
  EXPECT_TRUE(outcome.remarks.empty());
  EXPECT_EQ(outcome.options.rate, 0.5);
}

TEST(EnvironmentTest, EachNameIsKnownOnceAndNearestToItself) {
  for (const KnownVariable& variable : kVariables) {
    EXPECT_EQ(FindVariable(variable.name), &variable);
    EXPECT_EQ(NearestVariable(variable.name), &variable);
    const bool is_read = !Read({(std::string(variable.name) + "=\n").c_str()}).ok ||
                         std::string_view(variable.name) == "ALLOMON_EXCLUDE" ||
                         std::string_view(variable.name) == "ALLOMON_OUT" ||
                         std::string_view(variable.name) == "ALLOMON_RECORD";
    EXPECT_EQ(is_read, variable.reader == VariableReader::kPreload) << variable.name;
  }
}

TEST(EnvironmentTest, TypingMistakeIsSaidWithTheNameThatWasMeantAndTheRestHolds) {
  const std::pair<const char*, const char*> kMistakes[] = {
      {"ALLOMON_RAET=1", "ALLOMON_RATE"},
      {"ALLOMON_SUMARY=1", "ALLOMON_SUMMARY"},
      {"ALLOMON_SIGTREM=1", "ALLOMON_SIGTERM"},
      {"ALLOMON_EXCLUDES=f", "ALLOMON_EXCLUDE"},
      {"ALLOMON_GATEPROFILE=x", "ALLOMON_GATE_PROFILE"},
      {"ALLOMON_LIB=x", "ALLOMON_LIBRARY"},
      {"ALLOMON_HEPA=verify", "ALLOMON_HEAP"},
  };
  for (const auto& [variable, meant] : kMistakes) {
    const Outcome outcome = Read({variable, "ALLOMON_HZ=7"});
    EXPECT_TRUE(outcome.ok) << outcome.error;
    EXPECT_EQ(outcome.options.hz, 7u);
    const std::string name(variable, strcspn(variable, "="));
    const std::string line = name + ": unknown, and ignored; " + meant + " is known";
    EXPECT_EQ(outcome.remarks, std::vector<std::string>{line});
  }
}

TEST(EnvironmentTest, MistakenNameOfOneThatBoundsWhatIsWrittenIsAnError) {
  for (const char* variable :
       {"ALLOMON_PROFIL=no", "ALLOMON_OUTPUT=x", "ALLOMON_RECROD=x", "ALLOMON_RECORDS=x",
        "ALLOMON_RECORD_LIMTI=1m", "ALLOMON_RECORDLIMIT=1m"}) {
    const Outcome outcome = Read({variable});
    EXPECT_FALSE(outcome.ok) << variable;
    EXPECT_NE(outcome.error.find(": unknown; ALLOMON_"), std::string::npos) << outcome.error;
  }
}

TEST(EnvironmentTest, NameOfNobodyIsIgnored) {
  const std::string longest = "ALLOMON_" + std::string(100'000, 'R') + "=1";
  for (const char* variable :
       {"ALLOMON_COLOUR=1", "ALLOMON_HOME=/", "ALLOMON_VERSION=3", "ALLOMON_=1", longest.c_str()}) {
    const Outcome outcome = Read({variable});
    EXPECT_TRUE(outcome.ok) << outcome.error;
    ASSERT_EQ(outcome.remarks.size(), 1u);
    EXPECT_EQ(outcome.remarks[0].find("is known"), std::string::npos) << outcome.remarks[0];
  }
}

TEST(EnvironmentTest, ProcessIdAndPercentAreExpanded) {
  EXPECT_EQ(ExpandOut("a.%p.%n.%%p.%q%", 42, 7), "a.42.7.%p.%q%");
  EXPECT_TRUE(NamesProcess("mlmon.%p.out"));
  EXPECT_FALSE(NamesProcess("mlmon.%%p.out"));
}

}  // namespace
}  // namespace allomon
