// heap_v2 and its relatives: reads the output of jemalloc and gperftools, and reads back its own
// output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interchange/example_profile.h"
#include "tools/heap/interval.h"
#include "tools/load/import.h"

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

}  // namespace
}  // namespace allomon::interchange
