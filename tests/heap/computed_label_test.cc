// Sources of memory as labels.
#include "tools/heap/computed_label.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/heap/labels.h"

namespace allomon::heap {
namespace {

// A profile with one block, of a stack of one function.
HeapProfile ProfileOf(Source source, const std::string& function) {
  HeapProfile profile;
  profile.functions = {{function, "", "", 0}};
  profile.locations = {{0x1000, kNone, {{0, 0}}}};
  profile.samples.resize(1);
  profile.samples[0].stack = {0};
  profile.samples[0].source = source;
  return profile;
}

std::string LabelOf(Source source, const std::string& function) {
  HeapProfile profile = ProfileOf(source, function);
  AddComputedLabel(kSourceKey, &profile);
  return std::string(LabelValue(profile.samples[0], kSourceKey));
}

TEST(ComputedLabel, EachSourceHasAName) {
  EXPECT_EQ(LabelOf(Source::kMalloc, "f"), "malloc");
  EXPECT_EQ(LabelOf(Source::kManaged, "f"), "managed");
  EXPECT_EQ(LabelOf(Source::kUnmarshalled, "f"), "unmarshalled");
  EXPECT_EQ(LabelOf(Source::kCustom, "f"), "custom");
  EXPECT_EQ(LabelOf(Source::kMapped, "f"), "mmap");
  EXPECT_EQ(LabelOf(Source::kCustomOrMapped, "f"), "custom-or-mmap");
}

TEST(ComputedLabel, PythonsArenasAreToldByTheirFunction) {
  EXPECT_EQ(LabelOf(Source::kMapped, "_PyObject_ArenaMmap"), "python-arenas");
  EXPECT_EQ(LabelOf(Source::kMalloc, "_PyObject_ArenaMalloc"), "python-arenas");
  EXPECT_EQ(LabelOf(Source::kCustom, "_PyObject_ArenaMmap"), "custom");
  EXPECT_EQ(LabelOf(Source::kMapped, "python3.11+0x1234"), "mmap");
}

TEST(ComputedLabel, UnknownIsNotGuessed) {
  EXPECT_EQ(LabelOf(Source::kUnknown, "_PyObject_ArenaMmap"), kNoLabel);
  HeapProfile profile = ProfileOf(Source::kMalloc, "f");
  profile.samples.push_back(ProfileOf(Source::kUnknown, "f").samples[0]);
  AddComputedLabel(kSourceKey, &profile);
  EXPECT_EQ(LabelValue(profile.samples[0], kSourceKey), "malloc");
  EXPECT_EQ(LabelValue(profile.samples[1], kSourceKey), "unknown");
}

TEST(ComputedLabel, OtherKeysAddNothing) {
  HeapProfile profile = ProfileOf(Source::kMalloc, "f");
  AddComputedLabel("tenant", &profile);
  EXPECT_TRUE(profile.samples[0].labels.empty());
}

TEST(ComputedLabel, NumbersOfAHostileProfileMayBeWrong) {
  HeapProfile profile = ProfileOf(Source::kMapped, "f");
  profile.samples[0].stack = {7};
  profile.samples.push_back(ProfileOf(Source::kMapped, "f").samples[0]);
  profile.locations[0].lines[0].function = 9;
  AddComputedLabel(kSourceKey, &profile);
  EXPECT_EQ(LabelValue(profile.samples[0], kSourceKey), "mmap");
  EXPECT_EQ(LabelValue(profile.samples[1], kSourceKey), "mmap");
}

}  // namespace
}  // namespace allomon::heap
