// Tests what --view=unused says of hand-written profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/views/hand_made.h"
#include "tools/heap/interval.h"

namespace allomon::views {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Object = nlohmann::json;

class Blocks : public HandMade {
 public:
  Blocks() { profile.rate = 1; }

  // Adds live blocks of one size.
  heap::Sample& AddLive(const std::vector<std::string>& stack, uint64_t size_bytes, double blocks) {
    heap::Sample& sample = Add(stack, static_cast<double>(size_bytes), blocks, blocks);
    sample.source = heap::Source::kMalloc;
    sample.sizes = {{size_bytes, sample[heap::Metric::kLive], false}};
    return sample;
  }

  Object Rows(const char* table) const {
    return Object::parse(Json(profile, {"--view=unused"})).at(table);
  }
};

TEST(UnusedViewTest, RoundingIsOfTheClassOfEachSize) {
  Blocks blocks;
  blocks.AddLive({"Make@a.cc:3"}, 65, 100);
  blocks.AddLive({"Make@a.cc:3"}, 64, 1000);
  blocks.AddLive({"Make@a.cc:4"}, 33000, 2);
  const Object rows = blocks.Rows("rounding_sites");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("line"), 4);
  EXPECT_EQ(rows[0].at("rounding"), 2 * (36864 - 33000));
  EXPECT_EQ(rows[1].at("line"), 3);
  EXPECT_EQ(rows[1].at("rounding"), 100 * 15);
  EXPECT_EQ(rows[1].at("asked"), 100 * 65 + 1000 * 64);
  EXPECT_EQ(rows[1].at("advice"), "ask for 64 bytes, not 65: saves 1.6 KiB");
}

TEST(UnusedViewTest, OnlyASizeJustAboveAClassGetsAdvice) {
  Blocks blocks;
  blocks.AddLive({"Above@a.cc:1"}, 264, 100);
  blocks.AddLive({"Amid@a.cc:2"}, 300, 100);
  blocks.AddLive({"FarAbove@a.cc:3"}, 40, 100);
  for (const Object& row : blocks.Rows("rounding_sites")) {
    const bool has_advice = row.contains("advice") && !row.at("advice").is_null();
    EXPECT_EQ(has_advice, row.at("function") == "Above") << row;
  }
}

TEST(UnusedViewTest, BlocksOfOtherSourcesHaveNoClass) {
  Blocks blocks;
  blocks.AddLive({"Mine@a.cc:1"}, 65, 100);
  blocks.AddLive({"Pool@a.cc:2"}, 65, 100).source = heap::Source::kCustom;
  const Object rows = blocks.Rows("rounding_sites");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("function"), "Mine");
}

TEST(UnusedViewTest, SmallBlocksUnderInterpretedFunctionsAreLeftOut) {
  Blocks blocks;
  blocks.profile.mappings.push_back({0, 0, 0, heap::kInterpreted, ""});
  blocks.AddLive({"grow@a.py:1"}, 65, 1000);
  blocks.AddLive({"grow@a.py:1"}, 1025, 100);
  blocks.profile.locations[0].mapping = 0;
  const Object rows = blocks.Rows("rounding_sites");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("rounding"), 100 * (1280 - 1025));
  EXPECT_THAT(Shown(blocks.profile, {"--view=unused"}), HasSubstr("are left out"));
}

TEST(UnusedViewTest, AMeanOfManySizesGetsNoAdvice) {
  Blocks blocks;
  blocks.AddLive({"Text@a.cc:1"}, 65, 100).sizes[0].is_mean = true;
  const Object row = blocks.Rows("rounding_sites")[0];
  EXPECT_EQ(row.at("rounding"), 100 * 15);
  EXPECT_TRUE(!row.contains("advice") || row.at("advice").is_null());
}

TEST(UnusedViewTest, SmallBlocksOfPythonsOwnFunctionsAreLeftOut) {
  Blocks blocks;
  blocks.AddLive({"_PyObject_New", "main"}, 65, 1000);
  blocks.AddLive({"main"}, 65, 10);
  const Object rows = blocks.Rows("rounding_sites");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("rounding"), 10 * 15);
}

// Rounding is bytes for each block, so its interval is that of the number of blocks.
TEST(UnusedViewTest, TheIntervalIsThatOfTheBlocks) {
  Blocks blocks;
  blocks.profile.rate = 1e-3;
  const heap::Sample sample = blocks.AddLive({"Make@a.cc:3"}, 65, 5000);
  const heap::Interval truth = heap::BlocksInterval(
      heap::EstimateOf({5000, 5000 * 65}, sample, heap::Sampling{1e-3, false, true}));
  const Object row = blocks.Rows("rounding_sites")[0];
  EXPECT_NEAR(row.at("rounding_low").get<double>(), truth.low * 15, truth.low / 1e3);
  EXPECT_NEAR(row.at("rounding_high").get<double>(), truth.high * 15, truth.high / 1e3);
}

TEST(UnusedViewTest, ThreeSizesUnderAGrowingFunctionAreGrowth) {
  Blocks blocks;
  const std::vector<std::string> stack = {"std::vector<Order>::_M_realloc_insert@v.h:9",
                                          "Fill@a.cc:7"};
  blocks.AddLive(stack, 100, 4);
  blocks.AddLive(stack, 200, 3);
  EXPECT_TRUE(blocks.Rows("growth_sites").empty());
  blocks.AddLive(stack, 400, 1);
  const Object rows = blocks.Rows("growth_sites");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("function"), "Fill");
  EXPECT_EQ(rows[0].at("copied"), 3 * 100 + 1 * 200);
  EXPECT_EQ(rows[0].at("largest_blocks"), 1);
}

TEST(UnusedViewTest, SizesAloneAreGrowthIfNoOtherSizeIsThere) {
  Blocks blocks;
  for (const uint64_t size : {1000, 1500, 2250, 3375}) blocks.AddLive({"Fill@a.cc:7"}, size, 2);
  EXPECT_EQ(blocks.Rows("growth_sites").size(), 1u);
  blocks.AddLive({"Fill@a.cc:7"}, 1200, 2);
  EXPECT_TRUE(blocks.Rows("growth_sites").empty());
}

TEST(UnusedViewTest, MoreLargeBlocksThanSmallOnesAreNoGrowthOfABuffer) {
  Blocks blocks;
  double count = 1;
  for (const uint64_t size : {1000, 2000, 4000, 8000}) {
    blocks.AddLive({"Any@a.cc:7"}, size, count *= 3);
  }
  EXPECT_TRUE(blocks.Rows("growth_sites").empty());
}

TEST(UnusedViewTest, OtherMallocsHaveGrowthAlone) {
  Blocks blocks;
  blocks.AddLive({"Make@a.cc:3"}, 65, 100);
  blocks.profile.allocator = "host";
  const std::string shown = Shown(blocks.profile, {"--view=unused"});
  EXPECT_THAT(shown, HasSubstr("the rounding of this malloc (host) is not known"));
  EXPECT_THAT(shown, Not(HasSubstr("Make")));
}

TEST(UnusedViewTest, AProfileWithoutExactSizesFails) {
  Blocks blocks;
  blocks.AddLive({"Make@a.cc:3"}, 65, 100).sizes.clear();
  EXPECT_THAT(Failure(blocks.profile, {"--view=unused"}), HasSubstr("no exact sizes"));
}

TEST(UnusedViewTest, WithoutLiveBlocksANoteSaysHowToGetSome) {
  Blocks blocks;
  blocks.Add({"Make@a.cc:3"}, 65, 100).source = heap::Source::kMalloc;
  EXPECT_THAT(Shown(blocks.profile, {"--view=unused"}), HasSubstr("allomon save PID -o FILE"));
}

}  // namespace
}  // namespace allomon::views
