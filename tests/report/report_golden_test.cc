// Compares the report with mlprof for every function of every recorded profile of a real MLton
// program, and checks that the numbers add up.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/profile/golden_files.h"
#include "tests/report/report_case.h"
#include "tools/mlprof/mlprof.h"

namespace allomon::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Amounts = std::vector<int64_t>;  // in the profile's units

class ReportGoldenTest : public ReportCase {
 protected:
  // Understands "1,234" and, for ticks, "12.34s".
  static int64_t Unformatted(std::string text) {
    std::string digits;
    for (char c : text) {
      if (isdigit(static_cast<unsigned char>(c))) digits += c;
    }
    return std::stoll(digits);
  }

  // mlprof's rows, by name and position.  Functions with zero amounts have no row.
  static std::map<std::string, Amounts> ByMlprof(const std::string& profile) {
    const auto result =
        mlprof::RunMlprof({"-raw", "true", "-show-line", "true", "program", profile});
    EXPECT_TRUE(result.success) << result.err;
    static const std::regex amount("\\(([0-9,.]+)s?\\)");
    std::map<std::string, Amounts> rows;
    std::istringstream lines(result.out);
    std::string line;
    for (int i = 0; i < 3; ++i) std::getline(lines, line);  // skips totals, heads and dashes
    while (std::getline(lines, line)) {
      Amounts amounts;
      for (std::sregex_iterator match(line.begin(), line.end(), amount), end; match != end;
           ++match) {
        amounts.push_back(Unformatted((*match)[1]));
      }
      std::string name = line.substr(0, line.find('%'));
      name.resize(name.find_last_not_of("0123456789.") + 1);
      name.resize(name.find_last_not_of(' ') + 1);
      if (amounts != Amounts(amounts.size(), 0)) rows[name] = amounts;
    }
    return rows;
  }

  static std::map<std::string, Amounts> ByReport(const Json& report) {
    std::map<std::string, Amounts> rows;
    for (const Json& function : report["functions"]) {
      std::string name = function["name"];
      if (function["position"] != "") name += "  " + std::string(function["position"]);
      Amounts& amounts = rows[name];
      for (const char* key : {"current", "stack", "gc"}) {
        if (function.contains(key)) amounts.push_back(function[key]);
      }
    }
    return rows;
  }

  // Whether the profile has any data.  Profiles without data exist, and the report says so.
  static bool Check(const std::string& profile) {
    const std::map<std::string, Amounts> expected = ByMlprof(profile);
    if (expected.empty()) {
      EXPECT_NE(Error({"program", profile}).find(profile + ": 0 "), std::string::npos);
      return false;
    }
    const Json report = Json::parse(Out({"program", profile, "--json"}));
    EXPECT_EQ(ByReport(report), expected) << profile;
    int64_t sum = 0;
    for (const Json& function : report["functions"]) sum += int64_t{function["current"]};
    EXPECT_EQ(sum, int64_t{report["total"]} + int64_t{report["total_gc"]}) << profile;
    return true;
  }
};

TEST_F(ReportGoldenTest, EveryNumberIsMlprofs) {
  int count = 0;
  for (const std::string& profile : testing::GoldenFiles(".out")) {
    const std::string answer =
        testing::ReadFileOrDie(fs::path(profile).parent_path() / "sources.txt");
    Write("program", "#!/bin/sh\nexec tail -n +3 \"$0\"\n" + answer, 0755);
    count += Check(profile) ? 1 : 0;
  }
  EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace allomon::report
