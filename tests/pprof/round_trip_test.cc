// Written profiles are read back unchanged, whatever they contain or lack.
#include <gtest/gtest.h>

#include "tests/pprof/profiles.h"
#include "tools/load/load.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::pprof {
namespace {

using heap::HeapProfile;
using heap::Metric;
using testing::ExpectSame;
using testing::RandomProfile;
using testing::SmallProfile;

HeapProfile ThereAndBack(const HeapProfile& profile) {
  auto decoded = DecodePprof(EncodePprof(profile));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *std::move(decoded) : HeapProfile();
}

TEST(RoundTripTest, Everything) { ExpectSame(SmallProfile(), ThereAndBack(SmallProfile())); }

TEST(RoundTripTest, Many) {
  const HeapProfile profile = RandomProfile(3000, 1);
  ExpectSame(profile, ThereAndBack(profile));
}

TEST(RoundTripTest, Nothing) {
  HeapProfile profile;
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  profile.origin = "recording";
  ExpectSame(profile, ThereAndBack(profile));
}

TEST(RoundTripTest, AmountsWithFractionsAreRounded) {
  HeapProfile profile = SmallProfile();
  profile.samples[0][Metric::kLive] = {10.5, 99.25};
  profile.samples[0].deaths[0].amount = {0.4, 0.6};
  ExpectSame(profile, ThereAndBack(profile));
}

TEST(RoundTripTest, OnlyBytes) {
  HeapProfile profile = SmallProfile();
  profile.has_blocks = false;
  for (auto& sample : profile.samples) {
    for (auto& amount : sample.amounts) amount.blocks = 0;
  }
  ExpectSame(profile, ThereAndBack(profile));
}

TEST(RoundTripTest, ManagedMetrics) {
  HeapProfile profile = SmallProfile();
  profile.has.fill(true);
  profile.samples[1][Metric::kPromoted] = {1, 2};
  profile.samples[1][Metric::kDiedYoung] = {3, 4};
  ExpectSame(profile, ThereAndBack(profile));
}

TEST(RoundTripTest, SameBytesEachTime) {
  EXPECT_EQ(EncodePprof(RandomProfile(100, 2)), EncodePprof(RandomProfile(100, 2)));
  EXPECT_EQ(Gzip(EncodePprof(SmallProfile())), Gzip(EncodePprof(SmallProfile())));
}

TEST(RoundTripTest, BytesOfTheFileAreReproduced) {
  const std::string bytes = EncodePprof(SmallProfile());
  EXPECT_EQ(bytes, EncodePprof(*DecodePprof(bytes)));
}

TEST(RoundTripTest, ByTheCommandsReader) {
  auto loaded = load::ParseHeapProfile("x.pb.gz", Gzip(EncodePprof(SmallProfile())), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSame(SmallProfile(), *loaded);
}

}  // namespace
}  // namespace allomon::pprof
