// mlmon.out has the bytes of functions, with and without those of their callees.
#include "tracker/formats/mlmon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"
#include "tools/load/import.h"
#include "tracker/formats/source_table.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using ::testing::HasSubstr;

struct Files {
  std::string sources;
  std::string profile;
};

Files Write(const HeapProfile& profile, Metric metric) {
  const auto files = FindExportFormat("mlmon")->run(profile, metric);
  EXPECT_TRUE(files.ok() && files->size() == 2);
  EXPECT_EQ(files->front().suffix, ".sources");
  return {files->front().bytes, files->back().bytes};
}

TEST(MlmonTest, FunctionsHaveTheirOwnBytesAndThoseOfWhatTheyCalled) {
  const HeapProfile profile = testing::LargeProfile(300);
  const Files files = Write(profile, Metric::kAllocated);
  Mlmon mlmon;
  SourceTable table;
  std::string error;
  ASSERT_TRUE(ParseMlmon(files.profile, &mlmon, &error)) << error;
  ASSERT_TRUE(ParseSources(AnswerOfStub(files.sources), &table, &error)) << error;
  EXPECT_EQ(mlmon.style, ProfileStyle::kStack);
  EXPECT_EQ(static_cast<double>(mlmon.total),
            std::llround(testing::TotalBytes(profile, Metric::kAllocated)));
  const auto costs = testing::CostsOf(profile, Metric::kAllocated);
  for (size_t i = 3; i < table.names.size(); ++i) {
    const testing::Cost& cost = costs.at(table.names[i].name);
    EXPECT_NEAR(static_cast<double>(mlmon.masters[i].current), cost.self, 300);
    EXPECT_NEAR(static_cast<double>(mlmon.masters[i].stack), cost.inclusive, 300);
  }
}

TEST(MlmonTest, ImportOfTheExportHasTheTotal) {
  for (const Metric metric : {Metric::kAllocated, Metric::kLive}) {
    const HeapProfile profile = testing::OddProfile();
    const Files files = Write(profile, metric);
    const auto back = ImportMlmon(files.profile, files.sources);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(testing::IsConsistent(*back));
    EXPECT_TRUE(Has(*back, metric));
    EXPECT_FALSE(back->has_blocks);
    EXPECT_EQ(testing::TotalBytes(*back, metric),
              std::llround(testing::TotalBytes(profile, metric)));
    EXPECT_EQ(back->functions[0].name, "main");
    EXPECT_EQ(back->functions[0].file, "src/main.cc");
    EXPECT_EQ(back->functions[0].start_line, 10u);
  }
}

void ExpectError(const std::string& profile, const std::string& sources, const char* words) {
  const auto back = ImportMlmon(profile, sources);
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(std::string(back.status().message()), HasSubstr(words));
}

TEST(MlmonTest, FilesThatDoNotFitAreErrors) {
  const Files files = Write(testing::OddProfile(), Metric::kLive);
  const Files other = Write(testing::LargeProfile(3), Metric::kLive);
  ExpectError(files.profile.substr(0, 60), files.sources, "cut short or damaged");
  ExpectError(files.profile, "", "not one that Allomon wrote");
  ExpectError(files.profile, other.sources, "of another build");
  std::string calls = files.profile;
  calls.replace(calls.find("alloc"), 5, "count");
  ExpectError(calls, files.sources, "not of bytes");
}

}  // namespace
}  // namespace allomon::interchange
