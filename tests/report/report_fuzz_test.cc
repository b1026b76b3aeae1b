// Damaged profiles and tables of functions give a report or one line of error, never a crash, and
// nothing that acts on a terminal or breaks a format.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/profile/mutator.h"
#include "tests/report/report_case.h"

namespace allomon::report {
namespace {

constexpr int kRounds = 3000;

class ReportFuzzTest : public ReportCase {
 protected:
  ReportFuzzTest()
      : mutator_(testing::kFuzzSeed, {"\033[2J", "\xc2\x9b", "\xff", "\t", "\n", "-1", "1e9", "0x",
                                      "170141183460469231731687303715884105727",
                                      "-170141183460469231731687303715884105727", "<&\">", "名"}) {}

  void Check(const std::vector<std::string>& args) {
    const CommandResult result = Run(args);
    ASSERT_TRUE(result.status == 0 || LinesOf(result.err) == 1) << result.err;
    for (const std::string& text : {result.out, result.err}) {
      for (unsigned char c : text) ASSERT_TRUE(c == '\n' || (c >= ' ' && c != 0x7f)) << text;
    }
    accepted_ += result.out.empty() ? 0 : 1;
    if (args[0] == "--json" && !result.out.empty()) {
      ASSERT_TRUE(nlohmann::json::accept(result.out)) << result.out;
    }
  }

  void CheckAll() {
    Check({"--json", "x.out"});
    Check({"--width=60", "--sort=stack", "x.out"});
    Check({"--width=60", "--picture=x.svg", "x.out"});
    Check({"--diff", "--json", "x.out", "mlmon.out"});
  }

  testing::Mutator mutator_;
  int accepted_ = 0;  // a fuzzer whose every input is refused would test nothing
};

TEST_F(ReportFuzzTest, DamagedProfile) {
  const std::string profile = FormatMlmon(testing::SmallProfile());
  const std::string stub = FormatSourcesStub(testing::SmallTable());
  Write("x.out.sources", stub);
  Write("mlmon.out.sources", stub);
  for (int round = 0; round < kRounds; ++round) {
    Write("x.out", mutator_.Mutate(profile));
    CheckAll();
  }
  EXPECT_GT(accepted_, kRounds / 10);
}

TEST_F(ReportFuzzTest, DamagedNames) {
  const std::string stub = FormatSourcesStub(testing::SmallTable());
  const size_t answer = stub.size() - AnswerOfStub(stub).size();
  Write("x.out", FormatMlmon(testing::SmallProfile()));
  Write("mlmon.out.sources", stub);
  for (int round = 0; round < kRounds; ++round) {
    Write("x.out.sources", stub.substr(0, answer) + mutator_.Mutate(stub.substr(answer)));
    CheckAll();
  }
  EXPECT_GT(accepted_, kRounds / 10);
}

}  // namespace
}  // namespace allomon::report
