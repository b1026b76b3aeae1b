// Tests how profiles become one tree.
#include "tools/flame/frame_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/flame/support/profiles.h"

namespace allomon::flame {
namespace {

using heap::Metric;

std::array<heap::Amount, heap::kMetrics> Allocated(double blocks, double bytes) {
  return {{{blocks, bytes}}};
}

// "main;f;g" of a node.
std::string PathOf(const FrameTree& tree, uint32_t node) {
  std::string path;
  for (; node != 0; node = tree.nodes()[node].parent) {
    path = tree.functions()[tree.nodes()[node].function].name + (path.empty() ? "" : ";" + path);
  }
  return path;
}

std::map<std::string, double> BytesByPath(const FrameTree& tree, Side side) {
  std::map<std::string, double> bytes;
  for (const Leaf& leaf : tree.leaves()) {
    if (!leaf.by_metric[side].empty()) {
      bytes[PathOf(tree, leaf.node)] += leaf.by_metric[side][0].amount.bytes;
    }
  }
  return bytes;
}

FrameTree TreeOf(const heap::HeapProfile& profile) {
  FrameTree tree({Metric::kAllocated});
  tree.Add(profile, kShown);
  return tree;
}

TEST(FrameTreeTest, EqualStacksAreOneNodeThoughTheirLinesDiffer) {
  ProfileMaker maker(1);
  maker.Add({{"main", "a.cc", 1}, {"f", "a.cc", 7}}, 8, Allocated(1, 8));
  maker.Add({{"main", "a.cc", 2}, {"f", "a.cc", 7}}, 16, Allocated(1, 16));
  const FrameTree tree = TreeOf(maker.profile());
  ASSERT_EQ(tree.nodes().size(), 3u);
  EXPECT_EQ(tree.nodes()[1].line, kSeveralLines);
  EXPECT_EQ(tree.nodes()[2].line, 7);
  EXPECT_EQ(BytesByPath(tree, kShown), (std::map<std::string, double>{{"main;f", 24}}));
}

TEST(FrameTreeTest, FunctionsOfOneNameInTwoFilesStayTwo) {
  ProfileMaker maker(1);
  maker.Add({{"main", "a.cc", 1}, {"Init", "a.cc", 7}}, 8, Allocated(1, 8));
  maker.Add({{"main", "a.cc", 1}, {"Init", "b.cc", 7}}, 8, Allocated(1, 8));
  EXPECT_EQ(TreeOf(maker.profile()).leaves().size(), 2u);
}

TEST(FrameTreeTest, InlinedCallsAreFramesBehindTheirCaller) {
  ProfileMaker maker(1);
  maker.Add({{"main", "a.cc", 1}, {"~outer", "a.h", 2}, {"~inner", "a.h", 3}}, 8, Allocated(1, 8));
  ASSERT_EQ(maker.profile().locations.size(), 1u);
  const FrameTree tree = TreeOf(maker.profile());
  EXPECT_EQ(PathOf(tree, 3), "main;outer;inner");
  EXPECT_FALSE(tree.nodes()[1].inlined);
  EXPECT_TRUE(tree.nodes()[2].inlined);
  EXPECT_TRUE(tree.nodes()[3].inlined);
}

TEST(FrameTreeTest, AFrameWithoutANameIsAnOffsetInItsFile) {
  heap::HeapProfile profile;
  profile.mappings.push_back({0x4000, 0x8000, 0x1000, "/usr/lib/libx.so", ""});
  profile.locations = {{0x5678, 0, {}}, {0x99, heap::kNone, {}}, {0, heap::kNone, {}}};
  profile.samples.resize(1);
  profile.samples[0].stack = {0, 1, 2};
  profile.samples[0][Metric::kAllocated] = {1, 8};
  const FrameTree tree = TreeOf(profile);
  EXPECT_EQ(PathOf(tree, 3), "(unknown);0x99;libx.so+0x2678");
  EXPECT_EQ(tree.functions()[0].module, "libx.so");
}

TEST(FrameTreeTest, ASampleWithoutAStackBelongsToTheRoot) {
  ProfileMaker maker(1);
  maker.Add({}, 8, Allocated(2, 16));
  const FrameTree tree = TreeOf(maker.profile());
  EXPECT_EQ(tree.nodes().size(), 1u);
  EXPECT_EQ(BytesByPath(tree, kShown), (std::map<std::string, double>{{"", 16}}));
}

TEST(FrameTreeTest, WhatIsNothingMakesNoNodes) {
  ProfileMaker maker(1);
  maker.Add({{"main"}}, 8, Allocated(0, 0));
  EXPECT_EQ(TreeOf(maker.profile()).nodes().size(), 1u);
}

TEST(FrameTreeTest, ProfilesOfOneSideAddUpAndSidesStayApart) {
  ProfileMaker one(1), other(1);
  one.Add({{"main"}, {"f"}}, 8, Allocated(1, 8));
  other.Add({{"other"}}, 8, Allocated(1, 8));
  other.Add({{"main"}, {"f"}}, 8, Allocated(3, 24));
  FrameTree tree({Metric::kAllocated});
  tree.Add(one.profile(), kShown);
  tree.Add(one.profile(), kShown);
  tree.Add(other.profile(), kBefore);
  EXPECT_EQ(BytesByPath(tree, kShown), (std::map<std::string, double>{{"main;f", 16}}));
  EXPECT_EQ(BytesByPath(tree, kBefore),
            (std::map<std::string, double>{{"main;f", 24}, {"other", 8}}));
}

// The program and its folder have another name for each version.
TEST(FrameTreeTest, FunctionsOfTwoBuildsAreTheSameByNameAndFile) {
  const auto build = [](const std::string& version) {
    ProfileMaker maker(1);
    maker.Add({{"main", "/src-" + version + "/a.cc", 1}, {"f", "/src-" + version + "/b.cc", 7}}, 8,
              Allocated(1, 8));
    heap::HeapProfile profile = maker.profile();
    profile.mappings.assign(1, heap::Mapping());
    profile.mappings[0].path = "/opt/app-" + version;
    for (heap::Location& location : profile.locations) location.mapping = 0;
    return profile;
  };
  FrameTree tree({Metric::kAllocated}, FrameTree::Builds::kTwo);
  tree.Add(build("1.0"), kShown);
  tree.Add(build("2.0"), kBefore);
  EXPECT_EQ(tree.functions().size(), 2u);
  EXPECT_EQ(tree.nodes().size(), 3u);
  ASSERT_EQ(tree.leaves().size(), 1u);
  EXPECT_EQ(tree.functions()[0].module, "app-1.0");
  // In one build functions of two modules are two.
  FrameTree one({Metric::kAllocated});
  one.Add(build("1.0"), kShown);
  one.Add(build("2.0"), kShown);
  EXPECT_EQ(one.leaves().size(), 2u);
}

TEST(FrameTreeTest, VariancesOfSizesAddUpInOneNode) {
  const heap::HeapProfile profile = ServerProfile({});
  heap::Estimate expected, found;
  for (const heap::Sample& sample : profile.samples) {
    expected.Add(
        heap::EstimateOf(sample[Metric::kPeak], sample, heap::SamplingOf(profile, Metric::kPeak)));
  }
  FrameTree tree({Metric::kAllocated, Metric::kPeak});
  tree.Add(profile, kShown);
  for (const Leaf& leaf : tree.leaves()) found.Add(leaf.by_metric[kShown][1]);
  EXPECT_DOUBLE_EQ(found.amount.bytes, expected.amount.bytes);
  EXPECT_NEAR(found.bytes_variance / expected.bytes_variance, 1, 1e-12);
  EXPECT_NEAR(found.sampled / expected.sampled, 1, 1e-12);
}

TEST(FrameTreeTest, ParentsComeBeforeTheirChildren) {
  ServerOptions options;
  options.random_stacks = 500;
  const FrameTree tree = TreeOf(ServerProfile(options));
  for (uint32_t i = 1; i < tree.nodes().size(); ++i) EXPECT_LT(tree.nodes()[i].parent, i);
}

TEST(FrameTreeTest, AStackMayBeAMillionFramesDeep) {
  heap::HeapProfile profile;
  profile.locations.resize(1);
  profile.samples.resize(1);
  profile.samples[0].stack.resize(1000000);
  profile.samples[0][Metric::kAllocated] = {1, 8};
  EXPECT_EQ(TreeOf(profile).nodes().size(), 1000001u);
}

TEST(FrameTreeTest, FewBytesThatStandForVeryManyFramesAreRefused) {
  heap::HeapProfile profile;
  profile.functions.resize(1);
  profile.locations.resize(1);
  profile.locations[0].lines.resize(10000);
  profile.samples.resize(1);
  profile.samples[0].stack.resize(kMostFrames / 10000 + 1);
  profile.samples[0][Metric::kAllocated] = {1, 8};
  FrameTree walked({Metric::kAllocated});
  EXPECT_FALSE(walked.Add(profile, kShown));
  EXPECT_EQ(walked.nodes().size(), 1u);
  profile.samples[0].stack.resize(kMostNodes / 10000 + 100);
  FrameTree large({Metric::kAllocated});
  EXPECT_FALSE(large.Add(profile, kShown));
  EXPECT_LT(large.nodes().size(), kMostNodes + 20000);
}

}  // namespace
}  // namespace allomon::flame
