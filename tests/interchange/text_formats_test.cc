// Formats of text that are read and written: heap_v2 and its relatives, of jemalloc and gperftools,
// and collapsed stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "tests/interchange/example_profile.h"
#include "tools/heap/interval.h"
#include "tools/load/import.h"
#include "tools/text/numbers.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using ::testing::HasSubstr;

constexpr char kJemalloc[] =
    "heap_v2/524288\n"
    "  t*: 3: 2097664 [7: 4195328]\n"
    "  t0: 3: 2097664 [7: 4195328]\n"
    "@ 0x401001 0x402001\n"
    "  t*: 2: 2097152 [4: 4194304]\n"
    "  t0: 2: 2097152 [4: 4194304]\n"
    "@ 0x7f0000000101 0x402001\n"
    "  t*: 1: 512 [2: 1024]\n"
    "  t0: 1: 512 [2: 1024]\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "00400000-00401000 r--p 00000000 08:01 12 /bin/prog\n"
    "00401000-00403000 r-xp 00001000 08:01 12 /bin/prog\n"
    "7f0000000000-7f0000001000 r-xp 00002000 08:01 13 /lib/a library.so\n";

// Returns the number of blocks that a sampled block of that size represents.
double Scale(double size) { return 1 / (1 - std::exp(-size / 524288)); }

TEST(HeapV2Test, RowsOfJemallocAreScaledByTheirMeanSize) {
  const auto profile = ImportHeapV2(kJemalloc);
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_TRUE(testing::IsConsistent(*profile));
  ASSERT_EQ(profile->samples.size(), 2u);
  const double large = Scale(1048576);
  const double small = Scale(512);
  EXPECT_NEAR(profile->samples[0][Metric::kLive].blocks, 2 * large, 1e-6);
  EXPECT_NEAR(profile->samples[0][Metric::kAllocated].bytes, 4194304 * large, 1);
  EXPECT_NEAR(profile->samples[1][Metric::kLive].blocks, small, 1e-6);
  EXPECT_NEAR(profile->samples[1][Metric::kAllocated].bytes, 1024 * small, 1);
  EXPECT_EQ(profile->samples[1].size_bytes, 512u);
}

TEST(HeapV2Test, AddressesAreThoseOfCallsAndHaveTheirMapping) {
  const auto profile = ImportHeapV2(kJemalloc);
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->locations.size(), 3u);
  EXPECT_EQ(profile->locations[0].address, 0x401000u);
  ASSERT_EQ(profile->mappings.size(), 2u) << "without code: passed over";
  EXPECT_EQ(profile->mappings[1].path, "/lib/a library.so");
  EXPECT_EQ(profile->mappings[1].file_offset, 0x2000u);
  EXPECT_EQ(profile->locations[0].mapping, 0u);
  EXPECT_EQ(profile->locations[2].mapping, 1u);
}

TEST(HeapV2Test, IntervalsAreThoseOfItsSampling) {
  const auto profile = ImportHeapV2(kJemalloc);
  ASSERT_TRUE(profile.ok()) << profile.status();
  const heap::Sample& sample = profile->samples[1];
  const auto estimate =
      heap::EstimateOf(sample[Metric::kLive], sample, heap::SamplingOf(*profile, Metric::kLive));
  EXPECT_NEAR(estimate.sampled, 1, 1e-6);
}

TEST(HeapV2Test, ReadsGperftools) {
  const auto exact = ImportHeapV2(
      "heap profile:   3:   3072 [  5:   5120] @ heapprofile\n"
      "   1:   1024 [  2:   2048] @ 0x00401001 0x00402001\n"
      "   2:   2048 [  3:   3072] @ 0x00401011\n"
      "\nMAPPED_LIBRARIES:\n400000-500000 r-xp 0 08:01 1 /bin/prog\n");
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(testing::TotalBytes(*exact, Metric::kLive), 3072);
  EXPECT_EQ(testing::TotalBlocks(*exact, Metric::kAllocated), 5);
  EXPECT_EQ(exact->rate, 1);
  EXPECT_EQ(exact->locations[2].mapping, 0u);

  const auto sampled = ImportHeapV2(
      "heap profile: 1: 512 [0: 0] @ heap_v2/524288\n"
      "1: 512 [0: 0] @ 0x401001\n");
  ASSERT_TRUE(sampled.ok()) << sampled.status();
  EXPECT_NEAR(testing::TotalBlocks(*sampled, Metric::kLive), Scale(512), 1e-6);
  EXPECT_FALSE(Has(*sampled, Metric::kAllocated));

  const auto growth = ImportHeapV2(
      "heap profile: 1: 512 [1: 512] @ growthz\n"
      "1: 512 [1: 512] @ 0x401001\n");
  ASSERT_TRUE(growth.ok()) << growth.status();
  EXPECT_EQ(growth->notes.size(), 1u);
}

TEST(HeapV2Test, ExportsReadBackWithTheSameTotals) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(500)}) {
    for (const char* format : {"heap_v2", "jemalloc"}) {
      const auto back = ImportHeapV2(testing::Export(format, profile, Metric::kLive));
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_TRUE(testing::IsConsistent(*back));
      EXPECT_EQ(back->rate, profile.rate);
      EXPECT_EQ(back->mappings[0].path, profile.mappings[0].path);
      for (Metric metric : {Metric::kLive, Metric::kAllocated}) {
        const double bytes = testing::TotalBytes(profile, metric);
        const double blocks = testing::TotalBlocks(profile, metric);
        EXPECT_EQ(testing::TotalBytes(*back, metric), std::llround(bytes)) << format;
        EXPECT_NEAR(testing::TotalBlocks(*back, metric), blocks, 2) << format;
      }
    }
  }
}

TEST(HeapV2Test, ExportKeepsAddressesAndSizes) {
  const HeapProfile profile = testing::LargeProfile(50);
  const auto back = ImportHeapV2(testing::Export("heap_v2", profile, Metric::kLive));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->samples.size(), profile.samples.size());
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    ASSERT_EQ(back->samples[i].stack.size(), profile.samples[i].stack.size());
    EXPECT_EQ(back->samples[i].size_bytes, profile.samples[i].size_bytes);
    for (size_t at = 0; at < profile.samples[i].stack.size(); ++at) {
      EXPECT_EQ(back->locations[back->samples[i].stack[at]].address,
                profile.locations[profile.samples[i].stack[at]].address);
    }
  }
}

TEST(HeapV2Test, AnotherMetricTakesTheColumnInUse) {
  const HeapProfile profile = testing::OddProfile();
  const auto back = ImportHeapV2(testing::Export("heap_v2", profile, Metric::kPeak));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(testing::TotalBytes(*back, Metric::kLive),
            std::llround(testing::TotalBytes(profile, Metric::kPeak)));
}

void ExpectError(const std::string& text, const std::string& words) {
  const auto profile = ImportHeapV2(text);
  ASSERT_FALSE(profile.ok()) << text;
  EXPECT_THAT(std::string(profile.status().message()), HasSubstr(words));
}

TEST(HeapV2Test, ErrorsNameTheLine) {
  ExpectError("", "line 1: neither");
  ExpectError("heap_v2/x\n", "line 1: the sampling period");
  ExpectError("heap_v2/99999999999999999999\n", "line 1: the sampling period");
  ExpectError("heap_v2/512\n@ 0x1 zz\n", "line 2: an address is not hexadecimal");
  ExpectError("heap_v2/512\n@ 0x11111111111111111\n", "line 2: an address is not hexadecimal");
  ExpectError("heap_v2/512\n@ 0x1\n  t*: 1: 2\n", "line 3: the counts");
  ExpectError("heap_v2/512\n@ 0x1\n  t*: 0: 2 [0: 0]\n", "line 3: the counts");
  ExpectError("heap_v2/512\nnonsense\n", "line 2: neither");
  ExpectError("heap profile: 1: 2 @ heapprofile\n", "line 1: not \"heap profile:");
  ExpectError("heap profile: 1: 2 [1: 2] @ odd\n", "line 1: \"odd\" is none of");
  ExpectError("heap profile: 1: 2 [1: 2] @ heap_v2\n", "line 1: no sampling period");
  ExpectError("heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 [3: 4]\n", "line 2: not \"N: BYTES");
}

TEST(HeapV2Test, LimitsAreErrors) {
  const auto fails = [](const ImportLimits& limits) {
    return !ImportHeapV2(kJemalloc, limits).ok();
  };
  ImportLimits limits;
  EXPECT_FALSE(fails(limits));
  limits.samples = 1;
  EXPECT_TRUE(fails(limits));
  limits = {};
  limits.frames = 3;
  EXPECT_TRUE(fails(limits));
  limits = {};
  limits.locations = 2;
  EXPECT_TRUE(fails(limits));
  limits = {};
  limits.mappings = 1;
  EXPECT_TRUE(fails(limits));
  limits = {};
  limits.text_bytes = 100;
  EXPECT_TRUE(fails(limits));
}

// Collapsed text folds back to the profile's totals, whatever its names.

// Reads like flamegraph.pl: a line is a stack, a blank and a number.
std::map<std::string, double> Fold(const std::string& text) {
  std::map<std::string, double> stacks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t blank = line.rfind(' ');
    EXPECT_NE(blank, std::string::npos) << line;
    stacks[line.substr(0, blank)] += std::stod(line.substr(blank + 1));
  }
  return stacks;
}

double Sum(const std::map<std::string, double>& stacks) {
  double sum = 0;
  for (const auto& [stack, bytes] : stacks) sum += bytes;
  return sum;
}

TEST(CollapsedTest, FoldsBackToTheTotalsOfEachMetric) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(500)}) {
    for (Metric metric : {Metric::kAllocated, Metric::kLive, Metric::kPeak, Metric::kTemporary}) {
      const auto stacks = Fold(testing::Export("collapsed", profile, metric));
      EXPECT_EQ(Sum(stacks), std::llround(testing::TotalBytes(profile, metric)));
    }
  }
}

TEST(CollapsedTest, StacksOfTwoSizesAndThreadsAreOneLine) {
  const auto stacks = Fold(testing::Export("collapsed", testing::OddProfile(), Metric::kAllocated));
  ASSERT_EQ(stacks.count("main;f(int)"), 1u);
  EXPECT_NEAR(stacks.at("main;f(int)"), 32 * 100.25 + 64 * 60.3, 1);
  EXPECT_EQ(stacks.count("main;f(int);f(int);f(int)"), 1u) << "recursion is kept";
  EXPECT_EQ(stacks.count("(no stack)"), 1u);
}

TEST(CollapsedTest, InlinedCallsAreInnermostLast) {
  const auto stacks = Fold(testing::Export("collapsed", testing::OddProfile(), Metric::kAllocated));
  EXPECT_EQ(stacks.count("main;f(int);ns::g<char\\x3b \"int\">;h::operator()#1 50%;f(int);"
                         "ns::g<char\\x3b \"int\">;h::operator()#1 50%"),
            1u);
}

TEST(CollapsedTest, NamesComeBackWhateverIsInThem) {
  for (const std::string name :
       {"a;b", "a\nb", "back\\slash", "\\x3b", "a \x01\x7f b", "\\", "\\x"}) {
    EXPECT_EQ(UnescapedFrame(EscapedFrame(name)), name);
    EXPECT_EQ(EscapedFrame(name).find_first_of(";\n"), std::string::npos);
  }
  EXPECT_EQ(UnescapedFrame("\\x41\\xzz\\x3"), "\\x41\\xzz\\x3") << "not ours: left alone";
}

TEST(CollapsedTest, ImportOfTheExportIsTheSameText) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(200)}) {
    const std::string text = testing::Export("collapsed", profile, Metric::kPeak);
    const auto back = ImportCollapsed(text, Metric::kPeak);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(testing::IsConsistent(*back));
    EXPECT_FALSE(back->has_blocks);
    EXPECT_TRUE(Has(*back, Metric::kPeak));
    EXPECT_EQ(testing::Export("collapsed", *back, Metric::kPeak), text);
  }
}

TEST(CollapsedTest, ReadsWhatOthersWrite) {
  const auto profile =
      ImportCollapsed("java;[unknown];a b (c)  12\r\n\nmain 0.5\nmain;f 3", Metric::kAllocated);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(testing::TotalBytes(*profile, Metric::kAllocated), 15.5);
  ASSERT_EQ(profile->samples.size(), 3u);
  EXPECT_EQ(profile->functions.back().name, "f");
}

TEST(CollapsedTest, ErrorsNameTheLine) {
  for (const std::string bad : {"nonumber", "a;b -3", "a;b 1e", "a;b nan", "a;b 0x10", "a 1.2.3",
                                "a 11111111111111111111111111111111111111111"}) {
    const auto profile = ImportCollapsed("ok 1\n" + bad + "\n", Metric::kLive);
    ASSERT_FALSE(profile.ok()) << bad;
    EXPECT_THAT(std::string(profile.status().message()), HasSubstr("line 2: "));
  }
}

TEST(CollapsedTest, LimitsAreErrors) {
  ImportLimits limits;
  limits.samples = 2;
  EXPECT_FALSE(ImportCollapsed("a 1\na 1\na 1\n", Metric::kLive, limits).ok());
  limits = {};
  limits.locations = 2;
  EXPECT_FALSE(ImportCollapsed("a;b;c 1\n", Metric::kLive, limits).ok());
  limits = {};
  limits.frames = 2;
  EXPECT_FALSE(ImportCollapsed("a;a;a 1\n", Metric::kLive, limits).ok());
  limits = {};
  limits.text_bytes = 2;
  EXPECT_FALSE(ImportCollapsed("a 1\n", Metric::kLive, limits).ok());
}

TEST(CollapsedTest, IsToldByItsFirstLine) {
  EXPECT_TRUE(LooksLikeCollapsed("main;f 12\nmore"));
  EXPECT_TRUE(LooksLikeCollapsed("main 12"));
  EXPECT_TRUE(LooksLikeCollapsed("a;very;long;line;that;is;cut"));
  EXPECT_FALSE(LooksLikeCollapsed("MLton prof\nalloc\n"));
  EXPECT_FALSE(LooksLikeCollapsed(""));
  EXPECT_FALSE(LooksLikeCollapsed(std::string("\x1f\x8b\x08\0;\0", 6)));
}

}  // namespace
}  // namespace allomon::interchange
