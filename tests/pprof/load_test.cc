// Files of any kind, recognised by their contents; an unreadable file gives one line that lists the
// readable kinds.
#include "tools/load/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/pprof/profiles.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::load {
namespace {

using heap::HeapProfile;
using heap::Metric;
using pprof::EncodePprof;
using pprof::Gunzip;
using pprof::Gzip;
using pprof::testing::SmallProfile;

std::string InTemporaryFolder(const std::string& name) { return ::testing::TempDir() + name; }

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = InTemporaryFolder(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string ErrorOf(const absl::StatusOr<HeapProfile>& profile) {
  EXPECT_FALSE(profile.ok());
  const std::string line(profile.status().message());
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 0) << line;
  return line;
}

void ExpectError(const std::string& bytes, const std::string& expected) {
  EXPECT_EQ(ErrorOf(ParseHeapProfile("x", bytes, {})).substr(0, expected.size()), expected);
}

TEST(LoadTest, CompressedOrNot) {
  const std::string bytes = EncodePprof(SmallProfile());
  for (const std::string& file : {bytes, Gzip(bytes)}) {
    EXPECT_TRUE(LooksLikeHeapProfile(file.substr(0, 64)));
    const auto profile = LoadHeapProfile(Write("x.pb", file), {});
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->samples.size(), 4u);
  }
}

TEST(LoadTest, OtherKindsCompressedOrNot) {
  const std::string text = "main;Cook;malloc 100\nmain;Eat 50\n";
  LoadOptions options;
  options.counts_metric = Metric::kPeak;
  for (const std::string& file : {text, Gzip(text)}) {
    const auto profile = ParseHeapProfile("x", file, options);
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_TRUE(Has(*profile, Metric::kPeak));
    EXPECT_EQ(profile->samples.size(), 2u);
  }
}

TEST(LoadTest, WhatIsNoHeapProfile) {
  ExpectError("", "x is empty");
  ExpectError("#!/bin/sh\n", "x is no heap profile: give a recording, a pprof file");
  ExpectError("\177ELF", "x is no heap profile");
  ExpectError(Gzip(Gzip("x")), "x is no heap profile");
  ExpectError(Gzip(""), "x is empty");
  EXPECT_FALSE(LooksLikeHeapProfile("#!/bin/sh\n"));
  EXPECT_FALSE(LooksLikeHeapProfile(""));
  EXPECT_FALSE(LooksLikeHeapProfile("MLton prof\nalloc\n"));
  EXPECT_FALSE(LooksLikeHeapProfile("\n\nText behind empty lines\n"));
}

TEST(LoadTest, FilesThatCannotBeRead) {
  const std::string absent = InTemporaryFolder("absent");
  EXPECT_EQ(ErrorOf(LoadHeapProfile(absent, {})),
            "cannot read " + absent +
                ": No such file or directory; name the file that allomon run has written");
  EXPECT_EQ(ErrorOf(LoadHeapProfile("/", {})),
            "cannot read /: Is a directory; name the file in it");
}

// The file is sparse, so it takes no space.
TEST(LoadTest, LargeFileIsRefusedUnread) {
  const std::string path = Write("large", "");
  ASSERT_EQ(truncate(path.c_str(), (int64_t{2} << 30) + 1), 0);
  EXPECT_EQ(ErrorOf(LoadHeapProfile(path, {})),
            path + " has more than 2048 MiB: record fewer stacks (--limit)");
  unlink(path.c_str());
}

TEST(LoadTest, MlmonWithItsTableOnly) {
  const std::string path = Write("mlmon.out", "MLton prof\nalloc\ncurrent\n");
  EXPECT_NE(ErrorOf(LoadHeapProfile(path, {})).find(path + ".sources"), std::string::npos);
}

TEST(LoadTest, StandardInput) {
  const std::string path = Write("stdin", Gzip(EncodePprof(SmallProfile())));
  ASSERT_NE(freopen(path.c_str(), "rb", stdin), nullptr);
  const auto profile = LoadHeapProfile("-", {});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->samples.size(), 4u);
}

TEST(GzipTest, MembersAreConcatenatedAndZerosArePadding) {
  EXPECT_EQ(*Gunzip(Gzip("abc") + Gzip("") + Gzip("def")), "abcdef");
  EXPECT_EQ(*Gunzip(Gzip("abc") + std::string(100, '\0')), "abc");
}

TEST(GzipTest, CutShortAnywhere) {
  const std::string file = Gzip(std::string(1000, 'x') + "y");
  for (size_t size = 3; size < file.size(); ++size) {
    EXPECT_FALSE(Gunzip(file.substr(0, size)).ok()) << size;
  }
  EXPECT_EQ(Gunzip(file.substr(0, file.size() - 1)).status().message(),
            "is a gzip file that is cut short: make or copy it again");
}

TEST(GzipTest, DamagedBytes) {
  std::string file = Gzip("some bytes");
  file[file.size() - 6] ^= 1;  // a byte of the checksum
  EXPECT_FALSE(Gunzip(file).ok());
  EXPECT_FALSE(Gunzip(Gzip("abc") + "garbage").ok());
}

TEST(GzipTest, BombIsRefusedAtTheBound) {
  const std::string bomb = Gzip(std::string(8 << 20, '\0'));
  EXPECT_LT(bomb.size(), 1u << 20);
  EXPECT_EQ(Gunzip(bomb, 1 << 20).status().message(),
            "has more than 1 MiB when uncompressed: record fewer stacks (--limit)");
  EXPECT_TRUE(Gunzip(bomb, 8 << 20).ok());
}

// Written profiles are read back unchanged, whatever they contain or lack.

using pprof::DecodePprof;
using pprof::testing::ExpectSame;
using pprof::testing::RandomProfile;

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

// A program may give a label the name that pprof files have for threads.
TEST(RoundTripTest, LabelsNamedThread) {
  HeapProfile profile = SmallProfile();
  ASSERT_EQ(profile.threads[0].name, "cook");
  for (heap::Sample& sample : profile.samples) {
    sample.thread = heap::kNone;
    sample.labels.insert(sample.labels.begin(), {"thread", "cook"});
  }
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
}  // namespace allomon::load
