// Tests the treatment of labels by reports and differences.
#include "tools/heap/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/views/hand_made.h"
#include "tools/heap/born.h"
#include "tools/report/table/outputs.h"
#include "tools/report/views/diff_view.h"

namespace allomon::views {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Object = nlohmann::json;

// acme has 100 MB in two stacks, zeta 20 MB; 5 MB have no labels, and the labels of 1 MB are lost.
HandMade Tenants() {
  HandMade made;
  made.Add({"cache@c.cc:1", "main@m.cc:3"}, 4000, 30000, 20000, 20000).labels = {
      {"request", "7"}, {"tenant", "acme"}};
  made.Add({"parse@p.cc:1", "main@m.cc:3"}, 1000, 20000, 20000, 5000).labels = {{"tenant", "acme"}};
  made.Add({"parse@p.cc:1", "main@m.cc:3"}, 1000, 90000, 20000, 10000).labels = {
      {"tenant", "zeta"}};
  made.Add({"load@c.cc:9", "main@m.cc:3"}, 1000, 5000, 5000, 5000);
  made.Add({"load@c.cc:9", "main@m.cc:3"}, 500, 2000, 2000, 2000).labels = {{"(other)", "(other)"}};
  return made;
}

Object Rows(const std::vector<std::string>& args, const std::string& table) {
  return Object::parse(Json(Tenants().profile, args))[table];
}

TEST(LabelsTest, RowForEachValueWithIntervals) {
  const Object rows = Rows({"--by=label:tenant", "--metric=live"}, "labels");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["value"], "acme");
  EXPECT_EQ(rows[0]["live"], 1e8);
  EXPECT_LT(rows[0]["live_low"], 1e8);
  EXPECT_GT(rows[0]["live_high"], 1e8);
  EXPECT_EQ(rows[0]["alloc"], 1.4e8);
  EXPECT_EQ(rows[0]["peak"], 8.5e7);
  EXPECT_EQ(rows[1]["value"], "zeta");
  EXPECT_EQ(rows[1]["live"], 2e7);
  EXPECT_EQ(rows[2]["value"], "(none)");
  EXPECT_EQ(rows[3]["value"], "(other)");
  // A share is one of the same metric.
  for (const char* const metric : {"live_percent", "peak_percent", "alloc_percent"}) {
    double percent = 0;
    for (const Object& row : rows) percent += row[metric].get<double>();
    EXPECT_NEAR(percent, 100, 1e-4) << metric;
  }
}

TEST(LabelsTest, TableForPeople) {
  const std::string text = Shown(Tenants().profile, {"--by=label:tenant", "--metric=live"});
  EXPECT_THAT(text, HasSubstr("\ntenant"));
  EXPECT_THAT(text, HasSubstr("\nacme"));
  EXPECT_THAT(text, HasSubstr("\n(none)"));
  const std::string two = Shown(Tenants().profile, {"--by=label:tenant", "--top=2"});
  EXPECT_THAT(two, HasSubstr("2 more values"));
}

TEST(LabelsTest, FocusAndIgnore) {
  const auto live = [](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"--by=label:tenant", "--metric=live"};
    args.insert(args.end(), more.begin(), more.end());
    std::string text;
    for (const Object& row : Rows(args, "labels")) text += row["value"].get<std::string>() + " ";
    return text;
  };
  EXPECT_EQ(live({"--focus-label=tenant=acme"}), "acme ");
  EXPECT_EQ(live({"--focus-label=tenant=acme", "--focus-label=tenant=zeta"}), "acme zeta ");
  EXPECT_EQ(live({"--focus-label=tenant=acme", "--focus-label=request=8"}), "");
  EXPECT_EQ(live({"--focus-label=tenant=acm"}), "");
  EXPECT_EQ(live({"--focus-label=tenant"}), "acme zeta (other) ");
  EXPECT_EQ(live({"--focus-label=tenant=(none)"}), "(none) ");
  EXPECT_EQ(live({"--ignore-label=tenant=acme"}), "zeta (none) (other) ");
  EXPECT_EQ(live({"--ignore-label=tenant"}), "(none) ");
  const Object functions = Rows({"--focus-label=tenant=zeta", "--metric=live"}, "functions");
  EXPECT_EQ(functions[0]["function"], "parse");
  EXPECT_EQ(functions[0]["self"], 2e7);
}

TEST(LabelsTest, TreeBeginsWithTheValues) {
  const std::string text =
      Shown(Tenants().profile, {"--by=label:tenant", "--view=tree", "--metric=live"});
  EXPECT_THAT(text, HasSubstr("tenant=acme"));
  EXPECT_LT(text.find("tenant=acme"), text.find("cache"));
  EXPECT_LT(text.find("cache"), text.find("tenant=zeta"));
}

TEST(LabelsTest, LeaksByTenant) {
  HandMade made = Tenants();
  made.profile.duration_seconds = 16;
  // zeta has live blocks of all ages, none freed; acme's blocks date from the start.
  made.profile.samples[2].ages = {{20, 33, false, {10000, 1e7}}, {10, 30, false, {10000, 1e7}}};
  made.profile.samples[0].ages = {{20, 33, false, {20000, 8e7}}};
  made.profile.samples[1].ages = {{20, 33, false, {20000, 2e7}}};
  const Object rows = Object::parse(Json(made.profile, {"--leaks", "--by=label:tenant"}))["leaks"];
  EXPECT_EQ(rows[0]["value"], "zeta");
  EXPECT_EQ(rows[0]["verdict"], "grows");
  EXPECT_EQ(rows[1]["value"], "acme");
  EXPECT_EQ(rows[1]["verdict"], "kept");
  EXPECT_EQ(rows[1]["live"], 1e8);
  EXPECT_GT(rows[0]["old_low"], 0);
  EXPECT_THAT(Shown(made.profile, {"--leaks", "--by=label:tenant"}),
              HasSubstr("of tenant=zeta live, asked for by\n  parse"));
}

// Load for 2 s, and a pause of 4.  The last block is as old as the end of a killed process.
TEST(LabelsTest, LeaksByTenantOfAProgramThatWaited) {
  HandMade made = Tenants();
  made.profile.duration_seconds = 6.1;
  made.profile.timeline = {{0, 0, 0, 0}, {2, 2e9, 0, 0}, {6, 2e9, 0, 0}, {6.1, 2.1e9, 0, 0}};
  const auto cell = [](double seconds, double blocks) {
    const auto nanos = static_cast<uint64_t>(seconds * 1e9);
    const auto log2 = static_cast<uint8_t>(nanos == 0 ? 0 : std::log2(nanos));
    return heap::AgeCell{20, log2, false, {blocks, blocks * 1e3}, heap::EighthOf(nanos)};
  };
  made.profile.samples[2].ages = {cell(0, 1)};
  for (double seconds = 4.2; seconds < 6.1; seconds += 0.2) {
    made.profile.samples[2].ages.push_back(cell(seconds, 2000));
  }
  made.profile.samples[0].ages = {cell(6, 20000)};
  made.profile.samples[1].ages = {cell(5.9, 20000)};
  const Object rows = Object::parse(Json(made.profile, {"--leaks", "--by=label:tenant"}))["leaks"];
  EXPECT_EQ(rows[0]["value"], "zeta");
  EXPECT_EQ(rows[0]["verdict"], "grows");
  EXPECT_EQ(rows[1]["value"], "acme");
  EXPECT_EQ(rows[1]["verdict"], "kept");
}

TEST(LabelsTest, WhatIsWrongIsOneLine) {
  HandMade known = Tenants();
  known.profile.samples.pop_back();  // the lost labels may have had any key
  EXPECT_EQ(Failure(known.profile, {"--by=label:user"}),
            "no block has the label \"user\"; there is request, tenant");
  HandMade none;
  none.Add({"f"}, 8, 1, 1);
  EXPECT_EQ(Failure(none.profile, {"--by=label:user"}),
            "no block has labels: programs set them by allomon/labels.h");
  EXPECT_THAT(Failure(none.profile, {"--by=source"}), HasSubstr("sources of memory are unknown"));
  EXPECT_THAT(Failure(Tenants().profile, {"--by=label:tenant", "--view=sizes"}),
              HasSubstr("--by goes with"));
  const auto refused = [](const std::string& arg) {
    return std::string(ParseOptions({arg, "x"}, Command::kReport).status().message());
  };
  EXPECT_EQ(refused("--by=tenant"),
            "--by: \"tenant\" is not label:KEY, such as label:tenant, or type, or source");
  EXPECT_THAT(refused("--by=label:"), HasSubstr("is not label:KEY"));
  EXPECT_THAT(refused("--focus-label==acme"), HasSubstr("is not KEY=VALUE"));
}

// What a recording without samples lacks is no fault of its kind.
TEST(LabelsTest, WithoutSamplesTheRateIsTheReason) {
  for (const char* const by : {"--by=label:tenant", "--by=type", "--by=source"}) {
    EXPECT_THAT(Failure(HandMade().profile, {by}), HasSubstr("there is no sampled block, and"));
  }
}

TEST(LabelsTest, DifferenceOfTenants) {
  const HandMade before = Tenants();
  HandMade after = Tenants();
  for (heap::Amount& amount : after.profile.samples[2].amounts) {
    amount = {3 * amount.blocks, 3 * amount.bytes};
  }
  const auto options =
      ParseOptions({"--by=label:tenant", "--metric=live", "a", "b"}, Command::kDiff);
  ASSERT_TRUE(options.ok()) << options.status();
  const auto difference = DifferenceOf(before.profile, after.profile, *options, {});
  ASSERT_TRUE(difference.ok()) << difference.status();
  const Object rows = Object::parse(ToJson(difference->report))["functions"];
  EXPECT_EQ(rows[0]["function"], "tenant=zeta");
  EXPECT_EQ(rows[0]["difference"], 4e7);
  EXPECT_EQ(rows[0]["outcome"], "grew");
}

}  // namespace
}  // namespace allomon::views
