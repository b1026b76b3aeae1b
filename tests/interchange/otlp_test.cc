// OTLP, read back by a reader of our own: totals are pprof's, the
// dictionary keeps the contract's rules, and both forms say the same.
#include "tools/export/otlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/interchange/example_profile.h"
#include "tests/interchange/otlp_reader.h"
#include "tools/heap/interval.h"
#include "tools/pprof/pprof.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using testing::Attributes;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Message;
using testing::Otlp;
using ::testing::Pair;
using testing::TotalOf;
using Json = nlohmann::json;

Otlp Exported(const HeapProfile& profile, Metric metric = Metric::kLive) {
  const std::string bytes = testing::Export("otlp", profile, metric);
  EXPECT_EQ(bytes, EncodeOtlp(profile, metric)) << "the same profile, the same bytes";
  Otlp otlp(bytes);
  testing::CheckRules(otlp);
  return otlp;
}

// ---- Tests

TEST(OtlpTest, TotalsAreThoseOfPprof) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(300)}) {
    const auto pprof = pprof::DecodePprof(pprof::EncodePprof(profile));
    ASSERT_TRUE(pprof.ok());
    const Otlp otlp = Exported(profile);
    EXPECT_EQ(otlp.Profiles().size(), 8u);
    const std::pair<const char*, Metric> types[] = {{"alloc", Metric::kAllocated},
                                                    {"inuse", Metric::kLive},
                                                    {"peak", Metric::kPeak},
                                                    {"temporary", Metric::kTemporary}};
    for (const auto& [name, metric] : types) {
      const Message objects = otlp.Profile(std::string(name) + "_objects");
      const Message space = otlp.Profile(std::string(name) + "_space");
      EXPECT_EQ(otlp.Text(objects.Sub(1).Number(2)), "count");
      EXPECT_EQ(otlp.Text(space.Sub(1).Number(2)), "bytes");
      EXPECT_EQ(TotalOf(objects), testing::TotalBlocks(*pprof, metric)) << name;
      EXPECT_EQ(TotalOf(space), testing::TotalBytes(*pprof, metric)) << name;
      EXPECT_GT(TotalOf(objects), 0);
    }
  }
}

TEST(OtlpTest, MetricThatWasAskedForComesFirst) {
  const Otlp otlp = Exported(testing::OddProfile(), Metric::kPeak);
  EXPECT_EQ(otlp.Type(otlp.Profiles()[0]), "peak_space");
  EXPECT_EQ(otlp.Type(otlp.Profiles()[1]), "peak_objects");
  EXPECT_EQ(otlp.Type(otlp.Profiles()[2]), "alloc_objects");
}

TEST(OtlpTest, BlocksThatAreNotKnownAreNoProfile) {
  HeapProfile profile = testing::OddProfile();
  profile.has_blocks = false;
  EXPECT_EQ(Exported(profile).Profiles().size(), 4u);
}

TEST(OtlpTest, TimesAndPeriod) {
  HeapProfile profile = testing::OddProfile();
  profile.start_unix_nanos = 1'700'000'000'123'456'789;
  const Otlp otlp = Exported(profile);
  for (const Message& each : otlp.Profiles()) {
    EXPECT_EQ(each.Number(3), 1'700'000'000'123'456'789u);
    EXPECT_EQ(each.Number(4), 2'500'000'000u);
    EXPECT_EQ(otlp.Text(each.Sub(5).Number(1)), "space");
    EXPECT_EQ(otlp.Text(each.Sub(5).Number(2)), "bytes");
    EXPECT_EQ(each.Number(6), 8000u);
  }
  profile.start_unix_nanos = -1;
  profile.duration_seconds = -1;
  profile.rate = 0;
  const Message unknown = Exported(profile).Profiles()[0];
  EXPECT_FALSE(unknown.Has(3) || unknown.Has(4) || unknown.Has(6));
}

TEST(OtlpTest, Resource) {
  HeapProfile profile = testing::OddProfile();
  profile.command = "/opt/server --port=1";
  const Attributes expected = {{"service.name", "server"},
                               {"process.pid", "4242"},
                               {"process.executable.path", "/usr/bin/an example"}};
  const Otlp otlp = Exported(profile);
  EXPECT_EQ(otlp.Resource(), expected);
  EXPECT_EQ(otlp.ScopeProfiles().Sub(1).Bytes(1), "allomon");
  EXPECT_EQ(Otlp(EncodeOtlp(profile, Metric::kLive, "box")).Resource().at("host.name"), "box");
  profile.program = profile.command = "";
  profile.pid = 0;
  EXPECT_EQ(Exported(profile).Resource(), (Attributes{{"service.name", "unknown_service"}}));
}

TEST(OtlpTest, StacksAndMappings) {
  const Otlp otlp = Exported(testing::OddProfile(), Metric::kAllocated);
  const auto samples = otlp.Profiles()[0].Subs(2);
  EXPECT_EQ(otlp.NamesOf(samples[1]), (std::vector<std::string>{"f(int)", "main"}));
  EXPECT_EQ(
      otlp.NamesOf(samples[5]),
      (std::vector<std::string>{"h::operator()#1 50%", "ns::g<char; \"int\">", "f(int)",
                                "h::operator()#1 50%", "ns::g<char; \"int\">", "f(int)", "main"}));
  EXPECT_EQ(otlp.NamesOf(samples[9]), (std::vector<std::string>{"[no stack]"}));
  const Message mapping = otlp.Dictionary().Subs(1).at(1);
  EXPECT_EQ(mapping.Number(1), 0x400000u);
  EXPECT_EQ(otlp.Text(mapping.Number(4)), "/usr/bin/an example");
  EXPECT_EQ(otlp.AttributesOf(mapping.List(5)).at("process.executable.build_id.gnu"), "abcdef0123");
  const Message location = otlp.Dictionary().Subs(2).at(1);
  EXPECT_EQ(location.Number(2), 0x400010u);
  EXPECT_EQ(location.Subs(3)[0].Number(2), 11u);
}

TEST(OtlpTest, AttributesOfSamples) {
  HeapProfile profile = testing::OddProfile();
  profile.rate = 0;
  profile.functions[1].name = "std::__new_allocator<Order>::allocate(unsigned long, void const*)";
  profile.samples[3].source = heap::Source::kManaged;
  profile.samples[3].labels = {{"tenant", "a"}, {"C++ type", "Order"}};
  const Otlp otlp = Exported(profile);
  const auto samples = otlp.Profiles()[0].Subs(2);
  EXPECT_EQ(otlp.AttributesOf(samples[3].List(2)),
            (Attributes{{"allocation_size", "64 By"},
                        {"thread.id", "101"},
                        {"thread.name", "worker, \"second\""},
                        {"tenant", "a"},
                        {"allomon.type", "Order"},
                        {"allomon.source", "managed"}}));
  EXPECT_EQ(otlp.AttributesOf(samples[10].List(2)).at("request"), "GET; \"/\"");
  EXPECT_FALSE(otlp.Profiles()[0].Has(8)) << "nothing was dropped";
}

TEST(OtlpTest, IntervalsAreThoseOfReports) {
  HeapProfile profile = testing::OddProfile();
  const heap::Estimate estimate = EstimateOf(profile.samples[0][Metric::kPeak], profile.samples[0],
                                             SamplingOf(profile, Metric::kPeak));
  const heap::Interval interval = BytesInterval(estimate);
  const Otlp otlp = Exported(profile, Metric::kPeak);
  const Message space = otlp.Profiles()[0];
  const Attributes sample = otlp.AttributesOf(space.Subs(2)[0].List(2));
  EXPECT_NEAR(std::stod(sample.at("allomon.interval.low")),
              100 * interval.low / estimate.amount.bytes, 1);
  EXPECT_NEAR(std::stod(sample.at("allomon.interval.high")),
              100 * interval.high / estimate.amount.bytes, 1);
  EXPECT_THAT(sample.at("allomon.interval.low"), HasSubstr(" %"));
  const Attributes total = otlp.AttributesOf(space.List(11));
  EXPECT_LT(std::stod(total.at("allomon.total.low")), TotalOf(space));
  EXPECT_GT(std::stod(total.at("allomon.total.high")), TotalOf(space));
  EXPECT_THAT(total.at("allomon.total.high"), HasSubstr(" By"));
}

// An amount without a valid interval has no attribute that says otherwise.
TEST(OtlpTest, NoIntervalsWhereThereAreNone) {
  HeapProfile exact = testing::OddProfile(), unknown = exact, cut = exact;
  exact.rate = 1;
  unknown.rate = 0;
  cut.missing.samples = 12;
  for (const HeapProfile& profile : {exact, unknown, cut}) {
    const Otlp otlp = Exported(profile);
    const Message all = otlp.Profiles()[0];
    EXPECT_EQ(otlp.AttributesOf(all.Subs(2)[0].List(2)).count("allomon.interval.low"), 0u);
    EXPECT_EQ(otlp.AttributesOf(all.List(11)).count("allomon.total.low"), 0u);
  }
  const Otlp otlp = Exported(cut);
  EXPECT_THAT(otlp.AttributesOf(otlp.Profiles()[0].List(11)).at("allomon.missing"),
              HasSubstr("12 samples"));
}

// The contract wants one sample for each stack and set of attributes.
TEST(OtlpTest, SamplesOfOneIdentityAreOne) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples.resize(3, profile.samples[0]);
  profile.samples[2][Metric::kLive] = {};
  const double bytes = std::llround(profile.samples[0][Metric::kLive].bytes);
  const Otlp otlp = Exported(profile);
  EXPECT_EQ(otlp.Profiles()[0].Subs(2).size(), 1u);
  EXPECT_EQ(TotalOf(otlp.Profiles()[0]), 2 * bytes);
}

TEST(OtlpTest, SamplesOfNothingAreLeftOut) {
  HeapProfile profile = testing::OddProfile();
  profile.samples[0].amounts = {};
  EXPECT_EQ(Exported(profile).Profiles()[0].Subs(2).size(), profile.samples.size() - 1);
}

// ---- Hostile profiles

TEST(OtlpTest, EmptyProfiles) {
  HeapProfile profile;
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  EXPECT_EQ(Exported(profile).Profiles().size(), 2u);
  profile.locations.resize(1);  // of which nothing is known
  profile.samples.resize(2);
  profile.samples[0].stack = {0, 0};
  profile.samples[0][Metric::kLive] = {1, 16};
  profile.samples[1][Metric::kLive] = {1, 32};
  const Otlp otlp = Exported(profile);
  const auto samples = otlp.Profiles()[0].Subs(2);
  EXPECT_EQ(otlp.NamesOf(samples[0]), (std::vector<std::string>{"(unnamed)", "(unnamed)"}));
  EXPECT_EQ(otlp.NamesOf(samples[1]), (std::vector<std::string>{"[no stack]"}));
}

TEST(OtlpTest, HugeStacks) {
  HeapProfile profile = testing::LargeProfile(2);
  profile.samples[0].stack.assign(1'000'000, 5);
  const Otlp otlp = Exported(profile);
  const Message sample = otlp.Profiles()[0].Subs(2)[0];
  EXPECT_EQ(otlp.Dictionary().Subs(7).at(sample.Number(1)).List(1).size(), 1'000'000u);
}

TEST(OtlpTest, NumbersThatAreNone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  HeapProfile profile = testing::LargeProfile(6);
  for (size_t i = 0; i < 3; ++i) {
    profile.samples[i] = profile.samples[0];
    profile.samples[i][Metric::kLive] = {kInfinity, kInfinity};
  }
  profile.samples[3][Metric::kLive] = {std::nan(""), std::nan("")};
  profile.samples[4][Metric::kLive] = {-5, -80};
  profile.samples[4].size_bytes = UINT64_MAX;
  profile.duration_seconds = kInfinity;
  const Otlp otlp = Exported(profile);
  const auto samples = otlp.Profiles()[0].Subs(2);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(static_cast<int64_t>(samples[0].List(4)[0]), INT64_MAX) << "no overflow";
  EXPECT_EQ(static_cast<int64_t>(samples[1].List(4)[0]), -80);
}

// Readers of protocol buffers refuse a text that is not UTF-8.
TEST(OtlpTest, TextsAreUtf8) {
  HeapProfile profile = testing::OddProfile();
  profile.samples[0].labels = {{"a\xff", "b\xfe"}};
  profile.mappings[0].path = "/\xc3";
  profile.command = "\xe2\x82 x";
  const Otlp otlp = Exported(profile);
  EXPECT_THAT(otlp.AttributesOf(otlp.Profiles()[0].Subs(2)[0].List(2)),
              Contains(Pair("a\xef\xbf\xbd", "b\xef\xbf\xbd")));
  for (const Message::Value& text : otlp.Dictionary().All(5))
    EXPECT_NO_THROW(Json(text.bytes).dump());
  for (const auto& [key, value] : otlp.Resource()) EXPECT_NO_THROW(Json(value).dump()) << key;
}

TEST(OtlpTest, AKeyIsThereOnce) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples[0].labels = {{"a", "1"}, {"a", "2"}, {"a", "1"}, {"", "x"}, {"thread.id", "7"}};
  const Otlp otlp = Exported(profile);
  const Message all = otlp.Profiles()[0];
  const Attributes attributes = otlp.AttributesOf(all.Subs(2)[0].List(2));
  EXPECT_EQ(attributes.at("a"), "1");
  EXPECT_EQ(attributes.at("thread.id"), "100");
  EXPECT_EQ(all.Number(8), 3u) << "dropped";
}

// ---- JSON

TEST(OtlpJsonTest, SaysTheSame) {
  HeapProfile profile = testing::OddProfile();
  profile.start_unix_nanos = 1'700'000'000'123'456'789;
  profile.mappings[0].end = UINT64_MAX;
  profile.samples[4][Metric::kLive].bytes = -80;
  const Otlp otlp = Exported(profile);
  const Json json = Json::parse(testing::Export("otlp-json", profile, Metric::kLive));
  const Json& resource = json.at("resourceProfiles").at(0);
  EXPECT_EQ(resource.at("resource").at("attributes").at(1),
            Json({{"key", "process.pid"}, {"value", {{"intValue", "4242"}}}}));
  EXPECT_EQ(resource.at("scopeProfiles").at(0).at("scope").at("name"), "allomon");
  const Json& profiles = resource.at("scopeProfiles").at(0).at("profiles");
  const auto expected = otlp.Profiles();
  ASSERT_EQ(profiles.size(), expected.size());
  for (size_t i = 0; i < profiles.size(); ++i) {
    EXPECT_EQ(profiles[i].at("sampleType").at("typeStrindex"), expected[i].Sub(1).Number(1));
    EXPECT_EQ(profiles[i].at("timeUnixNano"), "1700000000123456789");
    EXPECT_EQ(profiles[i].at("period"), "8000");
    EXPECT_EQ(profiles[i].at("attributeIndices"), Json(expected[i].List(11)));
    const auto samples = expected[i].Subs(2);
    ASSERT_EQ(profiles[i].at("samples").size(), samples.size());
    for (size_t j = 0; j < samples.size(); ++j) {
      const Json& sample = profiles[i].at("samples")[j];
      EXPECT_EQ(sample.at("stackIndex"), samples[j].Number(1));
      EXPECT_EQ(sample.at("attributeIndices"), Json(samples[j].List(2)));
      EXPECT_EQ(sample.at("values").at(0),
                std::to_string(static_cast<int64_t>(samples[j].List(4)[0])));
    }
  }
}

TEST(OtlpJsonTest, DictionaryIsTheSame) {
  HeapProfile profile = testing::OddProfile();
  profile.mappings[0].end = UINT64_MAX;
  const Otlp otlp = Exported(profile);
  const Json json = Json::parse(testing::Export("otlp-json", profile, Metric::kLive));
  const Json& tables = json.at("dictionary");
  EXPECT_EQ(tables.at("linkTable"),
            Json({{{"traceId", std::string(32, '0')}, {"spanId", std::string(16, '0')}}}));
  const char* const names[] = {"mappingTable", "locationTable",  "functionTable", "linkTable",
                               "stringTable",  "attributeTable", "stackTable"};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(tables.at(names[i]).size(), otlp.Dictionary().All(i + 1).size()) << names[i];
    const bool is_message = i != 3 && i != 4;
    EXPECT_EQ(tables.at(names[i])[0] == Json::object(), is_message) << names[i];
  }
  for (size_t i = 0; i < tables.at("stringTable").size(); ++i) {
    EXPECT_EQ(tables.at("stringTable")[i], otlp.Text(i));
  }
  EXPECT_EQ(tables.at("mappingTable")[1].at("memoryStart"), "4194304");
  EXPECT_EQ(tables.at("mappingTable")[1].at("memoryLimit"), "18446744073709551615");
  EXPECT_EQ(tables.at("locationTable")[1].at("lines")[0],
            Json({{"functionIndex", 1}, {"line", "11"}}));
  EXPECT_EQ(tables.at("functionTable")[1].at("startLine"), "10");
  const Json& size = tables.at("attributeTable")[2];
  EXPECT_EQ(size.at("value"), Json({{"intValue", "16"}}));
  EXPECT_EQ(tables.at("stringTable")[size.at("unitStrindex").get<size_t>()], "By");
}

}  // namespace
}  // namespace allomon::interchange
