// CSV and JSON contain everything that a profile has, and follow other programs' rules; memprof
// has LLVM's numbers of functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"
#include "tools/export/function_guid.h"
#include "tools/heap/interval.h"
#include "tools/text/numbers.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Row = std::vector<std::string>;

// Accepts exactly RFC 4180.
std::vector<Row> ParseCsv(const std::string& text) {
  std::vector<Row> rows(1, Row(1));
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (is_quoted && text[i] == '"' && text[i + 1] == '"') {
      field += text[++i];
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text[i] == ',') {
      rows.back().emplace_back();
    } else if (!is_quoted && text[i] == '\r') {
      EXPECT_EQ(text[++i], '\n');
      rows.emplace_back(1);
    } else {
      EXPECT_TRUE(is_quoted || text[i] != '\n');
      field += text[i];
    }
  }
  EXPECT_FALSE(is_quoted);
  EXPECT_EQ(rows.back(), Row(1)) << "the last row has its end";
  rows.pop_back();
  return rows;
}

size_t Column(const std::vector<Row>& rows, const std::string& name) {
  for (size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == name) return i;
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

TEST(CsvTest, HasARowForEachSampleAndThoseAddUp) {
  const HeapProfile profile = testing::OddProfile();
  const auto rows = ParseCsv(testing::Export("csv", profile, Metric::kLive));
  ASSERT_EQ(rows.size(), profile.samples.size() + 1);
  double live = 0;
  double blocks = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), rows[0].size());
    live += std::stod(rows[i][Column(rows, "live_bytes")]);
    blocks += std::stod(rows[i][Column(rows, "temporary_blocks")]);
  }
  EXPECT_DOUBLE_EQ(live, testing::TotalBytes(profile, Metric::kLive));
  EXPECT_DOUBLE_EQ(blocks, testing::TotalBlocks(profile, Metric::kTemporary));
}

TEST(CsvTest, IntervalsAreThoseOfReports) {
  const HeapProfile profile = testing::OddProfile();
  const auto rows = ParseCsv(testing::Export("csv", profile, Metric::kLive));
  const auto estimate = heap::EstimateOf(profile.samples[0][Metric::kPeak], profile.samples[0],
                                         heap::SamplingOf(profile, Metric::kPeak));
  const auto interval = heap::BytesInterval(estimate);
  EXPECT_EQ(std::stod(rows[1][Column(rows, "peak_bytes_low")]), interval.low);
  EXPECT_EQ(std::stod(rows[1][Column(rows, "peak_bytes_high")]), interval.high);
  EXPECT_LT(interval.low, interval.high);
}

TEST(CsvTest, FieldsWithCommasAndQuotesStayOneField) {
  const auto rows = ParseCsv(testing::Export("csv", testing::OddProfile(), Metric::kLive));
  EXPECT_EQ(rows[4][Column(rows, "thread")], "worker, \"second\"");
  EXPECT_EQ(rows[2][Column(rows, "stack")], "main;f(int)");
  EXPECT_EQ(rows[2][Column(rows, "places")], "src/main.cc:11;src/f.cc:21");
  EXPECT_EQ(rows[6][Column(rows, "places")].substr(0, 29), "src/main.cc:11;src/f.cc:32;sr");
  EXPECT_EQ(rows[11][Column(rows, "labels")], "request=GET\\x3b \"/\"");
}

// A key with one and another key had the same text.
TEST(CsvTest, KeysHaveNoEqualsSign) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples[0].labels = {{"a=b", "c=d"}, {"e", "f;g"}};
  const auto rows = ParseCsv(testing::Export("csv", profile, Metric::kLive));
  EXPECT_EQ(rows[1][Column(rows, "labels")], "a\\x3db=c=d;e=f\\x3bg");
}

TEST(CsvTest, PlacesHaveNoLineThatIsNotKnown) {
  HeapProfile profile = testing::OddProfile();
  for (heap::Location& location : profile.locations) {
    for (heap::Line& line : location.lines) line.line = 0;
  }
  const auto rows = ParseCsv(testing::Export("csv", profile, Metric::kLive));
  EXPECT_EQ(rows[2][Column(rows, "places")], "src/main.cc;src/f.cc");
}

TEST(CsvTest, BlocksThatAreNotKnownAreEmpty) {
  HeapProfile profile = testing::LargeProfile(3);
  profile.has_blocks = false;
  const auto rows = ParseCsv(testing::Export("csv", profile, Metric::kLive));
  EXPECT_EQ(rows[1][Column(rows, "live_blocks")], "");
  EXPECT_NE(rows[1][Column(rows, "live_bytes")], "");
}

TEST(JsonTest, HasEverything) {
  const HeapProfile profile = testing::OddProfile();
  const Json json = Json::parse(testing::Export("json", profile, Metric::kLive));
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("metrics"), Json({"alloc", "live", "peak", "temporary"}));
  EXPECT_EQ(json.at("rate"), profile.rate);
  EXPECT_EQ(json.at("functions").size(), profile.functions.size());
  EXPECT_EQ(json.at("locations").size(), profile.locations.size());
  EXPECT_EQ(json.at("timeline").size(), profile.timeline.size());
  EXPECT_EQ(json.at("threads")[1].at("name"), profile.threads[1].name);
  EXPECT_EQ(json.at("mappings")[0].at("build_id"), "abcdef0123");
  ASSERT_EQ(json.at("samples").size(), profile.samples.size());
  double peak = 0;
  for (const Json& sample : json.at("samples")) peak += sample.at("peak").at("bytes").get<double>();
  EXPECT_DOUBLE_EQ(peak, testing::TotalBytes(profile, Metric::kPeak));
  const Json& sample = json.at("samples")[3];
  EXPECT_EQ(sample.at("stack"), Json(profile.samples[3].stack));
  EXPECT_EQ(sample.at("thread"), 1);
  EXPECT_EQ(sample.at("deaths")[0].at("log2_nanos"), 12);
}

TEST(JsonTest, HasWhatFewProfilesHave) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.has_ends = true;
  profile.malloc_file = "/lib/libc.so.6";
  profile.timeline = {{1, 2, 3, 4, 5}, {2, 2, 3, 4, 0}};
  profile.locations[0].new_type = "Node";
  profile.locations[0].lines = {{0, 7, 9}};
  heap::Sample& sample = profile.samples[0];
  sample.labels = {{"request", "7"}};
  sample.sizes = {{24, {2, 48}, true}};
  sample.outlived = {{0, true, {10, 12, false, {1, 24}, 3}}};
  const Json json = Json::parse(testing::Export("json", profile, Metric::kLive));
  EXPECT_EQ(json.at("has_ends"), true);
  EXPECT_EQ(json.at("malloc_file"), "/lib/libc.so.6");
  EXPECT_EQ(json.at("timeline")[0].at("resident_bytes"), 5);
  EXPECT_TRUE(json.at("timeline")[1].at("resident_bytes").is_null());
  EXPECT_EQ(json.at("locations")[0].at("new_type"), "Node");
  EXPECT_EQ(json.at("locations")[0].at("lines")[0].at("column"), 9);
  const Json& shown = json.at("samples")[0];
  EXPECT_EQ(shown.at("sizes"),
            Json::array({{{"size_bytes", 24}, {"is_mean", true}, {"blocks", 2}, {"bytes", 48}}}));
  ASSERT_EQ(shown.at("outlived").size(), 1u);
  EXPECT_EQ(shown.at("outlived")[0].at("label"), 0);
  EXPECT_EQ(shown.at("outlived")[0].at("is_innermost"), true);
  EXPECT_EQ(shown.at("outlived")[0].at("eighth"), 3);
}

TEST(JsonTest, WhatIsNotKnownIsNull) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples[0].has_size = false;
  profile.samples[0].thread = heap::kNone;
  const Json json = Json::parse(testing::Export("json", profile, Metric::kLive));
  EXPECT_TRUE(json.at("samples")[0].at("size_bytes").is_null());
  EXPECT_TRUE(json.at("samples")[0].at("thread").is_null());
}

std::string Hex(const Md5Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

TEST(MemprofTest, Md5IsThatOfTheRfc) {
  EXPECT_EQ(Hex(Md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Hex(Md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(Hex(Md5("1234567890123456789012345678901234567890"
                    "1234567890123456789012345678901234567890")),
            "57edf4a22be3c955ac49da2e2107b67a");
  EXPECT_EQ(FunctionGuid("main"), 0xdb956436e78dd5fau);
}

TEST(MemprofTest, NamesAreThoseOfTheSource) {
  EXPECT_EQ(NameInSource("_Z1fv"), "_Z1fv");
  EXPECT_EQ(NameInSource("_Z1fv.llvm.123"), "_Z1fv");
  EXPECT_EQ(NameInSource("_Z1fv.part.0.cold"), "_Z1fv");
  EXPECT_EQ(NameInSource("_Z1fv.constprop.0.isra.1"), "_Z1fv");
  EXPECT_EQ(NameInSource("_ZL1fv.__uniq.12.llvm.3"), "_ZL1fv.__uniq.12");
  EXPECT_EQ(NameInSource("f.llvm.x"), "f.llvm.x");
  EXPECT_EQ(NameInSource(".cold"), ".cold");
}

// Adds calls of operator new that stand in front of each stack's innermost call.
HeapProfile WithOperatorNew(HeapProfile profile) {
  const auto function = static_cast<uint32_t>(profile.functions.size());
  profile.functions.push_back({"operator new(unsigned long)", "_Znwm", "new.cc", 0});
  heap::Location location;
  location.lines.push_back({function, 0});
  profile.locations.push_back(location);
  for (heap::Sample& sample : profile.samples) {
    if (sample.stack.empty()) continue;
    sample.stack.insert(sample.stack.begin(), static_cast<uint32_t>(profile.locations.size() - 1));
  }
  return profile;
}

TEST(MemprofTest, TheCallOfOperatorNewIsTheInnermostOne) {
  const HeapProfile profile = testing::OddProfile();
  EXPECT_EQ(testing::Export("memprof", WithOperatorNew(profile), Metric::kLive),
            testing::Export("memprof", profile, Metric::kLive));
}

TEST(MemprofTest, CallsHaveLinkerNamesAndOffsets) {
  HeapProfile profile = testing::OddProfile();
  for (heap::Function& function : profile.functions) {
    if (function.file == "src/f.cc") function.linker_name = "_Z1fi.llvm.77";
  }
  const std::string text = testing::Export("memprof", profile, Metric::kLive);
  EXPECT_THAT(text, HasSubstr("\n  - GUID: 0x" + Hexadecimal(FunctionGuid("_Z1fi"))));
  // The location is of g in line 31, inlined into f in line 32; all functions start in line 10.
  EXPECT_THAT(text, HasSubstr("{ Function: 0x" + Hexadecimal(FunctionGuid("_Z1fi")) +
                              ", LineOffset: 22, Column: 0, IsInlineFrame: false }"));
  EXPECT_THAT(text, HasSubstr(", LineOffset: 21, Column: 0, IsInlineFrame: true }\n"));
}

// Clang compares the columns of all calls of a record if one of them has one.
TEST(MemprofTest, ARecordHasAllColumnsOrNone) {
  HeapProfile profile = testing::OddProfile();
  uint32_t column = 0;
  for (heap::Location& location : profile.locations) {
    for (heap::Line& line : location.lines) line.column = ++column;
  }
  const std::string all = testing::Export("memprof", profile, Metric::kLive);
  EXPECT_THAT(all, Not(HasSubstr("Column: 0")));
  EXPECT_THAT(all, HasSubstr(", LineOffset: 21, Column: "));
  profile.locations[0].lines[0].column = 0;
  const std::string text = testing::Export("memprof", profile, Metric::kLive);
  bool has_none = false, has_all = false;
  for (size_t at = 0; (at = text.find("  - GUID: ", at)) != std::string::npos;) {
    const size_t end = std::min(text.find("  - GUID: ", at + 1), text.size());
    const std::string record = text.substr(at, end - at);
    const bool without = record.find("Column: 0,") != std::string::npos;
    bool with = false;
    for (char digit = '1'; digit <= '9'; ++digit) {
      with = with || record.find(std::string("Column: ") + digit) != std::string::npos;
    }
    EXPECT_NE(with, without) << record;
    (with ? has_all : has_none) = true;
    at = end;
  }
  EXPECT_TRUE(has_none);
  EXPECT_TRUE(has_all);
}

// Many stacks may become one without columns.
TEST(MemprofTest, SumsOfLifetimesStopAtTheMost) {
  HeapProfile profile;
  profile.has[static_cast<size_t>(Metric::kAllocated)] = true;
  profile.functions.push_back({"f()", "_Z1fv", "f.cc", 1});
  for (uint32_t column = 0; column < 4; ++column) {
    profile.locations.emplace_back();
    profile.locations.back().lines.push_back({0, 2, column});
    profile.samples.emplace_back();
    profile.samples.back().stack = {column};
    profile.samples.back()[Metric::kAllocated] = {1e18, 2e18};
    profile.samples.back().deaths.emplace_back();
    profile.samples.back().deaths.back().log2_nanos = 60;
    profile.samples.back().deaths.back().amount = {1e18, 2e18};
  }
  const std::string text = testing::Export("memprof", profile, Metric::kAllocated);
  EXPECT_THAT(text, HasSubstr("TotalSize: 8000000000000000000\n"));
  EXPECT_THAT(text, HasSubstr("TotalLifetime: 9000000000000000000\n"));
}

TEST(MemprofTest, WhatClangCouldNotUseIsRefused) {
  const ExportFormat& format = *FindExportFormat("memprof");
  HeapProfile profile = testing::OddProfile();
  for (heap::Function& function : profile.functions) function.start_line = 0;
  EXPECT_THAT(std::string(format.run(profile, Metric::kLive).status().message()),
              HasSubstr("build the program with -g"));
  profile = testing::OddProfile();
  profile.has[static_cast<size_t>(Metric::kAllocated)] = false;
  EXPECT_THAT(std::string(format.run(profile, Metric::kLive).status().message()),
              HasSubstr("what was allocated"));
}

}  // namespace
}  // namespace allomon::interchange
