// Tests the output of allomon diff for pairs of profiles: simulated runs with fixed seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/views/hand_made.h"
#include "tools/heap/interval.h"
#include "tools/report/table/outputs.h"
#include "tools/report/views/diff_view.h"

namespace allomon::views {
namespace {

using heap::Metric;
using ::testing::HasSubstr;
using ::testing::Not;
using Object = nlohmann::json;
using Random = std::mt19937_64;

// Returns a sampled run of a program of 200 functions.  Only the function f7 grows, which has some
// 12,000 samples at 1e-4.
heap::HeapProfile SampledRun(uint64_t seed, double growth = 1, double rate = 1e-4) {
  Random random(seed);
  HandMade made;
  made.profile.rate = rate;
  for (int i = 0; i < 200; ++i) {
    for (const double size : {24.0, 300.0, 5000.0}) {
      const double p = heap::ReportProbability(size, true, rate);
      double samples = i == 7 ? 4000 * growth : 1500.0 / (i + 1);
      samples *= rate / 1e-4;
      const int blocks = static_cast<int>(samples / p);
      const double allocated = std::binomial_distribution<>(blocks, p)(random) / p;
      if (allocated > 0) {
        made.Add({"f" + std::to_string(i) + "@f.cc:" + std::to_string(i + 1), "main@m.cc:1"}, size,
                 allocated);
      }
    }
  }
  return made.profile;
}

Difference Compared(const heap::HeapProfile& before, const heap::HeapProfile& after,
                    std::vector<std::string> args = {}) {
  args.insert(args.end(), {"--metric=alloc", "a.pb.gz", "b.pb.gz"});
  const auto options = ParseOptions(args, Command::kDiff);
  EXPECT_TRUE(options.ok()) << options.status();
  Space space;
  space.rows = 20;
  auto difference = DifferenceOf(before, after, *options, space);
  EXPECT_TRUE(difference.ok()) << difference.status();
  return difference.ok() ? *std::move(difference) : Difference();
}

std::string Text(const Difference& difference, int width = 0) {
  TextStyle style;
  style.width = width;
  return ToText(difference.report, style);
}

TEST(DiffTest, TwoEqualRunsMarkNothingIn20Of20Tries) {
  for (uint64_t i = 0; i < 20; ++i) {
    const Difference difference = Compared(SampledRun(100 + i), SampledRun(200 + i));
    EXPECT_FALSE(difference.grew) << i;
    EXPECT_THAT(Text(difference), HasSubstr("\n0 rows of 200 changed")) << i;
  }
}

TEST(DiffTest, GrowthOfOneFunctionByATenthIsMarkedIn20Of20Tries) {
  for (uint64_t i = 0; i < 20; ++i) {
    const Difference difference = Compared(SampledRun(300 + i), SampledRun(400 + i, 1.1));
    EXPECT_TRUE(difference.grew) << i;
    const std::string text = Text(difference);
    EXPECT_THAT(text, HasSubstr("\n1 row of 200 changed")) << i;
    EXPECT_THAT(text, HasSubstr("\nf7 ")) << i;
  }
}

TEST(DiffTest, RatesMayDiffer) {
  EXPECT_FALSE(Compared(SampledRun(1), SampledRun(2, 1, 3e-4)).grew);
  EXPECT_TRUE(Compared(SampledRun(1), SampledRun(2, 1.2, 3e-4)).grew);
}

TEST(DiffTest, RowsSayWhetherTheyGrew) {
  const std::string text = Text(Compared(SampledRun(5), SampledRun(6, 1.5)));
  EXPECT_THAT(text, HasSubstr("  grew\n"));
  EXPECT_THAT(text, HasSubstr("  noise\n"));
  EXPECT_THAT(text, HasSubstr(" to +"));
  EXPECT_THAT(text, HasSubstr("two runs that are equal mark any row once in 1,000 times"));
}

TEST(DiffTest, NewAndGoneRows) {
  HandMade before, after;
  before.Add({"old"}, 1e6, 10);
  after.Add({"young"}, 1e6, 10);
  const std::string text = Text(Compared(before.profile, after.profile));
  EXPECT_THAT(text, HasSubstr("  gone\n"));
  EXPECT_THAT(text, HasSubstr("  new\n"));
}

TEST(DiffTest, SlightChangesOfKnownRowsAreNoGrowth) {
  HandMade before, after;
  before.Add({"f"}, 1e6, 1000);
  after.Add({"f"}, 1e6, 1001);
  const Difference difference = Compared(before.profile, after.profile);
  EXPECT_FALSE(difference.grew);
  EXPECT_THAT(Text(difference), HasSubstr("  slight\n"));
}

TEST(DiffTest, FunctionsOfBuildsInTwoFoldersAreTheSame) {
  HandMade before, after;
  before.Add({"f@/build/1/f.cc:10"}, 1e6, 10);
  after.Add({"f@/build/2/f.cc:12"}, 1e6, 10);
  const std::string text = Text(Compared(before.profile, after.profile));
  EXPECT_THAT(text, HasSubstr("0 rows of 1 changed"));
}

TEST(DiffTest, WithoutRatesAllChangesAreShown) {
  HandMade before, after;
  before.profile.rate = after.profile.rate = 0;
  before.Add({"f"}, 64, 10);
  after.Add({"f"}, 64, 11);
  const std::string text = Text(Compared(before.profile, after.profile));
  EXPECT_THAT(text, HasSubstr("the rate of sampling is not known of both"));
  EXPECT_THAT(text, HasSubstr("+64 B"));
  EXPECT_THAT(text, Not(HasSubstr("noise")));
}

TEST(DiffTest, TreesAndLines) {
  for (const char* view : {"--view=tree", "--view=callers", "--view=lines"}) {
    const Difference difference = Compared(SampledRun(7), SampledRun(8, 1.5), {view});
    EXPECT_TRUE(difference.grew) << view;
    EXPECT_THAT(Text(difference), HasSubstr("\nf7")) << view;
  }
  EXPECT_THAT(Text(Compared(SampledRun(7), SampledRun(8, 1.5), {"--view=tree"})),
              HasSubstr("\nf7 < main"));
}

TEST(DiffTest, NamesOfATreeLoseTheirFarthestCallersFirst) {
  HandMade before, after;
  const std::vector<std::string> stack = {
      "void server::cache::Store<std::string>::Insert(std::string const&, int)",
      "server::Handler::Serve(server::Request const&)", "server::Loop::RunOnce()", "main"};
  before.Add(stack, 1e6, 10);
  after.Add(stack, 1e6, 1000);
  const Difference difference = Compared(before.profile, after.profile, {"--view=tree"});
  EXPECT_THAT(Text(difference),
              HasSubstr("Store<...>::Insert(...) < Handler::Serve < Loop::RunOnce < main "));
  EXPECT_THAT(Text(difference, 140), HasSubstr("\nserver::cache::Store::Insert < Handler::Serve "));
  EXPECT_THAT(Text(difference, 130), HasSubstr("\nserver::cache::Store<...>::Insert(...) "));
  EXPECT_THAT(Text(difference, 70), HasSubstr("cache::Store::Insert "));
}

TEST(DiffTest, JsonHasPValuesAndIntervals) {
  const Difference difference = Compared(SampledRun(9), SampledRun(10, 1.5), {"--json"});
  const Object report = Object::parse(ToJson(difference.report));
  EXPECT_EQ(report["marked_rows"], 1);
  const Object& row = report["functions"][0];
  EXPECT_EQ(row["function"], "f7");
  EXPECT_EQ(row["outcome"], "grew");
  EXPECT_LT(row["p_value"], 1e-9);
  EXPECT_GT(row["difference_low"], 0);
  EXPECT_LT(row["difference_low"], row["difference"]);
  EXPECT_GT(row["difference_high"], row["difference"]);
}

// What is live is as before; twice as much was allocated on the way.
TEST(DiffTest, AnotherMetricThatSurelyChangedIsSaid) {
  HandMade before, after;
  before.Add({"churn"}, 1e5, 1000, 100);
  after.Add({"churn"}, 1e5, 2000, 100);
  const auto text = [&](const std::vector<std::string>& args) {
    const auto options = ParseOptions(args, Command::kDiff);
    return Text(*DifferenceOf(before.profile, after.profile, *options, Space()));
  };
  const char* const kOther = "bytes allocated: +95.4 MiB";
  const char* const kWhere = "which is no chance: --metric=alloc shows where\n";
  EXPECT_THAT(text({"a", "b"}), HasSubstr("0 rows of 1 changed"));
  EXPECT_THAT(text({"a", "b"}), HasSubstr(kOther));
  EXPECT_THAT(text({"a", "b"}), HasSubstr(kWhere));
  EXPECT_THAT(text({"--metric=live", "a", "b"}), Not(HasSubstr(kOther)));
  EXPECT_THAT(text({"--ignore=churn", "a", "b"}), Not(HasSubstr(kOther)));
}

// A hundredth of a run, and what chance does, are not worth a line.
TEST(DiffTest, OtherMetricsThatMayBeAsBeforeAreNotSaid) {
  for (uint64_t i = 0; i < 20; ++i) {
    heap::HeapProfile before = SampledRun(500 + i), after = SampledRun(600 + i);
    for (heap::HeapProfile* profile : {&before, &after}) {
      for (heap::Sample& sample : profile->samples) {
        sample.amounts[static_cast<size_t>(Metric::kLive)] = {1, 1e6};
      }
    }
    const auto options = ParseOptions({"a", "b"}, Command::kDiff);
    const std::string text = Text(*DifferenceOf(before, after, *options, Space()));
    EXPECT_THAT(text, HasSubstr("bytes live"));
    EXPECT_THAT(text, Not(HasSubstr("no chance"))) << i;
  }
}

TEST(DiffTest, EmptyProfilesAreCompared) {
  const Difference difference = Compared(HandMade().profile, HandMade().profile);
  EXPECT_THAT(Text(difference), HasSubstr("nothing is in either"));
}

TEST(DiffTest, MetricsThatOneSideLacksAreSaidInOneLine) {
  HandMade before, after;
  before.Add({"f"}, 64, 10);
  after.Add({"f"}, 64, 10, 10, 10);
  const auto options = ParseOptions({"--metric=peak", "a.pb.gz", "b.pb.gz"}, Command::kDiff);
  const auto difference = DifferenceOf(before.profile, after.profile, *options, Space());
  EXPECT_FALSE(difference.ok());
  EXPECT_EQ(difference.status().message(),
            "a.pb.gz: this pprof file does not say what was live at the peak: it has alloc, live");
}

}  // namespace
}  // namespace allomon::views
