// Facts of a whole profile or block: its shortages in one sentence, its program, computed labels.
#include <gtest/gtest.h>

#include <string>

#include "tools/heap/computed_label.h"
#include "tools/heap/labels.h"
#include "tools/heap/missing.h"
#include "tools/heap/program_name.h"

namespace allomon::heap {
namespace {

TEST(MissingTest, NothingIsNotSaid) {
  EXPECT_EQ(MissingText({}), "");
  for (size_t metric = 0; metric < kMetrics; ++metric) {
    EXPECT_TRUE(IsWhole({}, static_cast<Metric>(metric)));
  }
}

TEST(MissingTest, EachKindIsSaid) {
  Missing missing;
  missing.samples = 1;
  missing.bytes = 24;
  EXPECT_EQ(MissingText(missing),
            "not in the recording, for want of room: 1 sample of blocks of 24 bytes; a larger "
            "--limit may help");
  for (const MissingKind& kind : kMissingKinds) missing.*kind.count = 2;
  EXPECT_EQ(
      MissingText(missing),
      "not in the recording, for want of room: 2 samples of blocks of 2 bytes, the ages of "
      "2 deaths and promotions, ages of blocks of 2 threads, what 2 rows had at the peak, 2 "
      "names of functions, the modules of 2 frames, and 2 ends of labels; a larger --limit may "
      "help; 2 blocks ended when the address was taken again: the program freed them where Allomon "
      "does not see it, so they seem to have lived longer");
}

TEST(MissingTest, AMetricIsWholeIfAllThatItCountsIsThere) {
  struct Case {
    double Missing::*count;
    bool allocated, live, peak, temporary, promoted;
  };
  constexpr Case kCases[] = {
      {&Missing::samples, false, false, false, false, false},
      {&Missing::ends, true, true, true, false, false},
      {&Missing::threads, true, true, true, false, true},
      {&Missing::saved, true, true, false, true, true},
      {&Missing::names, true, true, true, true, true},
      {&Missing::frames, true, true, true, true, true},
      {&Missing::unseen, true, false, false, false, false},
  };
  for (const Case& each : kCases) {
    Missing missing;
    missing.*each.count = 1;
    EXPECT_EQ(IsWhole(missing, Metric::kAllocated), each.allocated);
    EXPECT_EQ(IsWhole(missing, Metric::kLive), each.live);
    EXPECT_EQ(IsWhole(missing, Metric::kPeak), each.peak);
    EXPECT_EQ(IsWhole(missing, Metric::kTemporary), each.temporary);
    EXPECT_EQ(IsWhole(missing, Metric::kPromoted), each.promoted);
    EXPECT_EQ(IsWhole(missing, Metric::kDiedYoung), each.promoted);
  }
}

}  // namespace
}  // namespace allomon::heap

// Programs have the names that people know.

namespace allomon::heap {
namespace {

TEST(ProgramNameTest, OfAnInterpreterItIsTheScript) {
  const char* const python = "/usr/bin/python3.11";
  EXPECT_EQ(ProgramName(python, "python3 /srv/app.py --port=1 x.py"), "app.py");
  EXPECT_EQ(ProgramName(python, "python3 -W ignore -u app.py"), "app.py");
  EXPECT_EQ(ProgramName(python, "python3 -m gunicorn app:app"), "gunicorn");
  EXPECT_EQ(ProgramName(python, "/usr/bin/python3 -c print(1)"), "python3");
  EXPECT_EQ(ProgramName(python, "python3"), "python3");
  EXPECT_EQ(ProgramName("/usr/bin/perl", "/usr/bin/perl -w ./report.pl a"), "report.pl");
  EXPECT_EQ(ProgramName("/usr/bin/dash", "sh /etc/cron.daily/x"), "x");
}

TEST(ProgramNameTest, OfOthersItIsWhatWasTyped) {
  EXPECT_EQ(ProgramName("/usr/bin/redis-check-rdb", "/usr/bin/redis-server *:6379"),
            "redis-server");
  EXPECT_EQ(ProgramName("/usr/sbin/nginx", "nginx: worker process"), "nginx");
  EXPECT_EQ(ProgramName("/usr/bin/gawk", "awk x.awk"), "awk");
  EXPECT_EQ(ProgramName("/usr/bin/bash", "-bash"), "bash");
}

TEST(ProgramNameTest, WithoutACommandItIsTheExecutable) {
  EXPECT_EQ(ProgramName("/usr/bin/git", ""), "git");
  EXPECT_EQ(ProgramName("/usr/bin/git", "  "), "git");
  EXPECT_EQ(ProgramName("/usr/bin/git", "/ x"), "git");
  EXPECT_EQ(ProgramName("/usr/bin/git", ": x"), "git");
  EXPECT_EQ(ProgramName("", ""), "");
}

}  // namespace
}  // namespace allomon::heap

// Sources of memory as labels.

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
