// Reading profiles that other programs have written, and refusing invalid ones.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/pprof/hand_made.h"
#include "tests/pprof/profiles.h"
#include "tools/heap/interval.h"
#include "tools/pprof/pprof.h"

namespace allomon::pprof {
namespace {

using heap::HeapProfile;
using heap::Metric;
using testing::Message;
using testing::Strings;
using testing::TwoTypes;

constexpr char kObjects[] = "inuse_objects";
constexpr char kSpace[] = "inuse_space";

// Makes a profile of two sample types with their strings, followed by `fields`.
std::string FileOf(const Message& fields, const std::vector<std::string>& more_strings = {}) {
  std::vector<std::string> strings = {"", kObjects, "count", kSpace, "bytes"};
  strings.insert(strings.end(), more_strings.begin(), more_strings.end());
  return TwoTypes().bytes() + fields.bytes() + Strings(strings).bytes();
}

Message ValuesOf(uint64_t blocks, uint64_t bytes) {
  return Message().Number(2, blocks).Number(2, bytes);
}

HeapProfile Good(const std::string& bytes) {
  auto profile = DecodePprof(bytes);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.ok() ? *std::move(profile) : HeapProfile();
}

void ExpectError(const std::string& bytes, const std::string& part) {
  const auto profile = DecodePprof(bytes);
  ASSERT_FALSE(profile.ok());
  const std::string line(profile.status().message());
  EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST(DecodeTest, UnpackedFieldsInAnyOrder) {
  const Message location = Message().Add(4, Message().Number(2, 7).Number(1, 90)).Number(1, 80);
  const Message function = Message().Number(2, 5).Number(1, 90).Number(4, 6);
  const Message sample = ValuesOf(3, 48).Number(1, 80);
  const HeapProfile profile =
      Good(FileOf(Message().Add(2, sample).Add(4, location).Add(5, function), {"main", "a.c"}));
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples[0].stack, std::vector<uint32_t>{0});
  EXPECT_EQ(profile.samples[0][Metric::kLive].blocks, 3);
  EXPECT_EQ(profile.samples[0][Metric::kLive].bytes, 48);
  ASSERT_EQ(profile.locations[0].lines.size(), 1u);
  EXPECT_EQ(profile.locations[0].lines[0].line, 7u);
  EXPECT_EQ(profile.functions[0].name, "main");
  EXPECT_EQ(profile.functions[0].file, "a.c");
  EXPECT_TRUE(Has(profile, Metric::kLive));
  EXPECT_FALSE(Has(profile, Metric::kAllocated));
  EXPECT_EQ(profile.origin, "pprof");
}

TEST(DecodeTest, UnknownFieldsAreSkipped) {
  EXPECT_EQ(
      Good(FileOf(Message().Add(2, ValuesOf(1, 8).Number(9, 1)).Bytes(99, "new"))).samples.size(),
      1u);
}

TEST(DecodeTest, RateFollowsFromThePeriod) {
  const Message period = Message().Add(11, Message().Number(1, 5).Number(2, 4)).Number(12, 524288);
  const HeapProfile profile = Good(FileOf(Message(period).Add(2, ValuesOf(1, 512)), {"space"}));
  EXPECT_FALSE(profile.samples[0].has_header);
  // Go's runtime samples a block of 512 bytes with this probability.
  const double p = 1 - std::exp(-512.0 / 524288);
  const heap::Estimate estimate = EstimateOf(profile.samples[0][Metric::kLive], profile.samples[0],
                                             heap::SamplingOf(profile, Metric::kLive));
  EXPECT_NEAR(estimate.blocks_variance, (1 - p) / p, 1e-6 / p);
}

TEST(DecodeTest, PeriodOfOneIsExactAndNoneIsNoRate) {
  const Message type = Message().Number(1, 3).Number(2, 4);
  EXPECT_EQ(Good(FileOf(Message().Add(11, type).Number(12, 1))).rate, 1);
  EXPECT_EQ(Good(FileOf(Message().Add(11, type))).rate, 0);
  EXPECT_EQ(Good(FileOf(Message().Number(12, 512))).rate, 0);  // the period's type is missing
}

TEST(DecodeTest, SpaceAloneIsWhatLives) {
  const Message type = Message().Add(1, Message().Number(1, 1).Number(2, 2));
  const Message sample = Message().Add(2, Message().Number(2, 4096));
  const HeapProfile profile =
      Good(type.bytes() + sample.bytes() + Strings({"", "space", "bytes"}).bytes());
  EXPECT_FALSE(profile.has_blocks);
  EXPECT_EQ(profile.samples[0][Metric::kLive].bytes, 4096);
}

TEST(DecodeTest, AnyTypeInBytesWillDoAndUnitsCount) {
  const Message type = Message().Add(1, Message().Number(1, 1).Number(2, 2));
  const Message sample = Message().Add(2, Message().Number(2, 3));
  const HeapProfile profile =
      Good(type.bytes() + sample.bytes() + Strings({"", "tlab_alloc", "kilobytes"}).bytes());
  EXPECT_EQ(profile.samples[0][Metric::kAllocated].bytes, 3 * 1024);
}

TEST(DecodeTest, TypesThatAreNotShownAreNamed) {
  const Message types = TwoTypes().Add(1, Message().Number(1, 5).Number(2, 4));
  const Message sample = Message().Add(2, ValuesOf(1, 8).Number(2, 16));
  const HeapProfile profile =
      Good(types.bytes() + sample.bytes() +
           Strings({"", "objects", "count", "space", "bytes", "resident_space"}).bytes());
  EXPECT_EQ(profile.samples[0][Metric::kLive].bytes, 8);
  EXPECT_EQ(profile.notes, std::vector<std::string>{"not shown: resident_space"});
}

TEST(DecodeTest, LabelsOfOthers) {
  const auto label = [](uint64_t key, uint64_t text, uint64_t number, uint64_t unit) {
    return Message().Number(1, key).Number(2, text).Number(3, number).Number(4, unit);
  };
  const Message sample = ValuesOf(1, 8)
                             .Add(3, label(4, 0, 48, 0))  // bytes: 48
                             .Add(3, label(5, 6, 0, 0))   // thread: worker
                             .Add(3, label(7, 0, 64, 4))  // alignment: 64 bytes
                             .Add(3, label(7, 8, 0, 0));  // alignment: page
  const HeapProfile profile =
      Good(FileOf(Message().Add(2, sample), {"thread", "worker", "alignment", "page"}));
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_TRUE(profile.samples[0].has_size);
  EXPECT_EQ(profile.samples[0].size_bytes, 48u);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].name, "worker");
  ASSERT_EQ(profile.samples[0].labels.size(), 2u);
  EXPECT_EQ(profile.samples[0].labels[0].value, "64 bytes");
  EXPECT_EQ(profile.samples[0].labels[1].value, "page");
}

TEST(DecodeTest, CpuProfileIsNoHeapProfile) {
  const std::string file =
      TwoTypes().bytes() + Strings({"", "samples", "count", "cpu", "nanoseconds"}).bytes();
  ExpectError(file, "not of memory (it has samples/count, cpu/nanoseconds)");
}

TEST(DecodeTest, NamesInErrorsDoNotActOnTerminals) {
  ExpectError(TwoTypes().bytes() + Strings({"", "a\nb", "\033[2J", "cpu", "\xff"}).bytes(),
              "(it has a\\x0ab/\\x1b[2J, cpu/\\xff)");
}

TEST(DecodeTest, DifferenceIsRefused) {
  ExpectError(FileOf(Message().Add(2, ValuesOf(1, static_cast<uint64_t>(-8)))), "difference");
}

TEST(DecodeTest, NumbersThatReferToNothing) {
  ExpectError(FileOf(Message().Add(2, ValuesOf(1, 8).Number(1, 5))), "a location that is not");
  ExpectError(FileOf(Message().Add(2, ValuesOf(1, 8).Number(1, 0))), "a location that is not");
  ExpectError(FileOf(Message().Add(4, Message().Number(1, 1).Number(2, 3))), "a mapping that");
  ExpectError(FileOf(Message().Add(4, Message().Number(1, 1).Add(4, Message().Number(1, 3)))),
              "a function that");
  ExpectError(FileOf(Message().Add(5, Message().Number(1, 1).Number(2, 99))), "a string that");
  ExpectError(FileOf(Message().Add(2, ValuesOf(1, 8).Add(3, Message().Number(1, 99)))),
              "a string that");
  ExpectError(FileOf(Message().Number(13, UINT64_MAX)), "a string that");
}

TEST(DecodeTest, IdsThatStandForTwo) {
  for (uint32_t field : {3, 4, 5}) {
    const Message of_one = Message().Number(1, 1);
    ExpectError(FileOf(Message().Add(field, of_one).Add(field, of_one)), "of one id");
    ExpectError(FileOf(Message().Add(field, Message().Number(1, 0))), "or one of 0");
  }
}

TEST(DecodeTest, SampleWithOtherValuesThanTypes) {
  ExpectError(FileOf(Message().Add(2, Message().Number(2, 1))), "all its values");
  ExpectError(FileOf(Message().Add(2, ValuesOf(1, 8).Number(2, 1))), "all its values");
}

TEST(DecodeTest, NoStrings) {
  ExpectError("", "no table of strings");
  ExpectError(Strings({"not empty"}).bytes(), "no table of strings");
  ExpectError(Strings({""}).bytes(), "no values");
}

TEST(DecodeTest, CutShortAnywhere) {
  const std::string whole = EncodePprof(testing::SmallProfile());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto profile = DecodePprof(whole.substr(0, size));
    // Truncation after the last string that is referred to is not detected.
    EXPECT_TRUE(!profile.ok() || size > whole.size() / 3) << size;
  }
  ExpectError(whole.substr(0, whole.size() - 1), "cut short");
}

// Each function takes a few bytes, but refers to a name of a megabyte.
TEST(DecodeTest, NamesDoNotMultiply) {
  Message functions;
  for (uint64_t id = 1; id <= 20; ++id) functions.Add(5, Message().Number(1, id).Number(2, 5));
  const std::string file = FileOf(functions, {std::string(1 << 20, 'x')});
  EXPECT_TRUE(DecodePprof(file, 21 << 20).ok());
  EXPECT_EQ(DecodePprof(file, 19 << 20).status().message(),
            "has more stacks and names than fit into 19 MiB: record fewer (--limit)");
}

TEST(DecodeTest, SamplesDoNotMultiply) {
  Message samples;
  for (int i = 0; i < 10000; ++i) samples.Add(2, ValuesOf(1, 8));
  EXPECT_TRUE(DecodePprof(FileOf(samples), 4 << 20).ok());
  EXPECT_FALSE(DecodePprof(FileOf(samples), 1 << 20).ok());
}

TEST(DecodeTest, LinesOfALaterVersionAreNotBelieved) {
  const std::string line = R"(allomon-profile {"version":2,"rate":0.5,"seed":1})";
  const HeapProfile profile = Good(FileOf(Message().Number(13, 5), {line}));
  EXPECT_EQ(profile.rate, 0);
  EXPECT_EQ(profile.origin, "pprof");
}

TEST(DecodeTest, DamagedLinesAreLeftOut) {
  const std::string head = R"(allomon-profile {"version":1,"rate":0.5,"seed":-1,"samples":3})";
  const HeapProfile profile = Good(
      FileOf(Message().Number(13, 5).Number(13, 6),
             {head, "allomon-profile {", "allomon-run [1]", "allomon-thread 3", "allomon-thread {}",
              "allomon-timeline {}", "allomon-timeline [1,2,3]", "allomon-ages [7,1,1]",
              "allomon-ages [", "allomon-headerless [9]", "allomon-sources [9,1,1]",
              "allomon-sources [0,1", "allomon-sizes [9,1,16,32]", "allomon-sizes ["}));
  EXPECT_EQ(profile.rate, 0.5);
  EXPECT_EQ(profile.seed, 0u);
  EXPECT_EQ(profile.threads.size(), 1u);
  EXPECT_TRUE(profile.timeline.empty());
}

// Otherwise a client could change the facts of a profile by a label that its request sets.
TEST(DecodeTest, LabelsAndNamesThatLookLikeLinesOfOursAreNone) {
  HeapProfile profile = testing::SmallProfile();
  profile.samples[0].labels.push_back({"request", R"(allomon-run {"program":"/bin/other"})"});
  profile.samples[1].labels.push_back({"allomon-ages [0,1,0,1,1,0,1,1]", "x"});
  profile.functions[0].name = R"(allomon-thread {"name":"other"})";
  profile.functions[0].file = "allomon-timeline [1,2,3,4]";
  profile.mappings[0].path = "allomon-sizes [0,1,16,32]";
  testing::ExpectSame(profile, Good(EncodePprof(profile)));
}

// A profile as `go tool pprof -proto A B` writes it.
TEST(DecodeTest, MergedProfileHasTheRateIfBothHaveIt) {
  const std::string half = R"(allomon-profile {"version":1,"rate":0.5,"seed":1})";
  const std::string also_half = R"(allomon-profile {"version":1,"rate":0.5,"seed":2})";
  const std::string third = R"(allomon-profile {"version":1,"rate":0.3,"seed":2})";
  const Message comments = Message().Number(13, 5).Number(13, 6);
  EXPECT_EQ(Good(FileOf(comments, {half, also_half})).rate, 0.5);
  EXPECT_TRUE(Good(FileOf(comments, {half, also_half})).is_sum);
  EXPECT_EQ(Good(FileOf(comments, {half, third})).rate, 0);
}

TEST(DecodeTest, LifetimesOfOtherSamplesAreNotBelieved) {
  HeapProfile profile = testing::SmallProfile();
  std::string bytes = EncodePprof(profile);
  profile.samples.pop_back();
  const std::string fewer = EncodePprof(profile);
  const auto line_of = [](const std::string& file) {
    return file.substr(file.find("\"samples\":"), 28);
  };
  bytes.replace(bytes.find(line_of(bytes)), 28, line_of(fewer));
  const HeapProfile decoded = Good(bytes);
  EXPECT_TRUE(decoded.samples[0].deaths.empty());
  EXPECT_EQ(decoded.notes.back(),
            "another tool has changed this profile: its lifetimes are not known");
}

}  // namespace
}  // namespace allomon::pprof
