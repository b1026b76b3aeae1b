// When a copy is due.
#include "tracker/triggers/rules.h"

#include "gtest/gtest.h"

namespace allomon::triggers {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kYear = uint64_t{365} * 86'400 * kSecond;

Rules RulesOf(const char* text) {
  Settings settings;
  std::string_view wrong;
  EXPECT_TRUE(ParseSettings(text, &settings, &wrong)) << text << ": " << wrong;
  Rules rules;
  rules.Begin(settings);
  return rules;
}

Facts At(uint64_t seconds, uint64_t peak_mib = 0, uint64_t used_mib = 0) {
  return {seconds * kSecond, peak_mib * kMiB, used_mib * kMiB, used_mib == 0 ? 0 : 100 * kMiB};
}

Reason Ask(Rules* rules, const Facts& facts) {
  const Reason due = rules->Due(facts);
  if (due != Reason::kNone) rules->NoteSaved(due, facts, 1'000'000);
  return due;
}

TEST(RulesTest, PeakIsComparedWithTheOneThatWasSavedAndNotWithTheLast) {
  Rules rules = RulesOf("peak+10%");
  EXPECT_EQ(Ask(&rules, At(1, 100)), Reason::kPeak);
  for (uint64_t mib = 101; mib < 110; ++mib) EXPECT_EQ(Ask(&rules, At(mib, mib)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(110, 110)), Reason::kPeak);
  EXPECT_EQ(Ask(&rules, At(111, 110)), Reason::kNone);
}

TEST(RulesTest, PeakOfAFewSamplesIsNotSaved) {
  Rules rules = RulesOf("peak+10%");
  EXPECT_EQ(rules.Due({kSecond, kLeastPeakBytes - 1, 0, 0}), Reason::kNone);
  EXPECT_EQ(rules.Due({kSecond, kLeastPeakBytes, 0, 0}), Reason::kPeak);
}

TEST(RulesTest, PeakThatNoiseExplainsIsNotSaved) {
  const auto at = [](uint64_t peak_mib, double error_mib) {
    Facts facts = At(peak_mib, peak_mib);
    facts.peak_variance = error_mib * kMiB * error_mib * kMiB;
    return facts;
  };
  Rules rules = RulesOf("peak+10%");
  EXPECT_EQ(Ask(&rules, at(100, 30)), Reason::kPeak) << "the first is compared with none";
  // Two errors of 50 MiB each add up to 250 by Pythagoras.
  EXPECT_EQ(Ask(&rules, at(349, 40)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, at(350, 40)), Reason::kPeak);
  // Compared with the errors of the copy that was saved last.
  EXPECT_EQ(Ask(&rules, at(550, 0)), Reason::kPeak);
  EXPECT_EQ(Ask(&rules, at(604, 1)), Reason::kNone) << "10 % are asked for, too";
  EXPECT_EQ(Ask(&rules, at(605, 1)), Reason::kPeak);
}

TEST(RulesTest, TimeThatWasSleptThroughIsOneCopyAndNotMany) {
  Rules rules = RulesOf("every=60s");
  EXPECT_EQ(Ask(&rules, At(59)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(60)), Reason::kEvery);
  const Facts later = {kYear, 0, 0, 0};
  EXPECT_EQ(Ask(&rules, later), Reason::kEvery);
  EXPECT_EQ(Ask(&rules, {kYear + kSecond, 0, 0, 0}), Reason::kNone);
  EXPECT_EQ(Ask(&rules, {kYear + 60 * kSecond, 0, 0, 0}), Reason::kEvery);
}

TEST(RulesTest, ClockThatGoesBackDelaysACopyByItsPeriodAndNotByTheJump) {
  Rules rules = RulesOf("every=60s,age=60s");
  EXPECT_EQ(Ask(&rules, {kYear, 0, 0, 0}), Reason::kEvery);
  EXPECT_EQ(Ask(&rules, At(100)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(160)), Reason::kEvery);
  EXPECT_TRUE(rules.IsAgeScanDue(161 * kSecond));
}

TEST(RulesTest, ClockThatGoesBackDoesNotSilenceThePeakAfterAFailure) {
  Rules rules = RulesOf("peak+10%");
  rules.NoteFailed(kYear);
  EXPECT_EQ(Ask(&rules, At(100, 50)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(102, 50)), Reason::kPeak);
}

TEST(RulesTest, LimitIsSavedOnceUntilMemoryWasGivenBack) {
  Rules rules = RulesOf("limit=90%");
  EXPECT_EQ(Ask(&rules, At(1, 0, 89)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(2, 0, 90)), Reason::kLimit);
  EXPECT_EQ(Ask(&rules, At(3, 0, 99)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(4, 0, 86)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(5, 0, 95)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(6, 0, 84)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(20, 0, 95)), Reason::kLimit);
}

TEST(RulesTest, MemoryThatSwingsAroundTheLimitIsSavedAfterAPause) {
  Rules rules = RulesOf("limit=90%");
  int copies = 0;
  for (uint64_t tenths = 0; tenths < 600; ++tenths) {
    const uint64_t used_mib = tenths % 2 == 0 ? 80 : 95;
    const Facts facts = {tenths * kSecond / 10, 0, used_mib * kMiB, 100 * kMiB};
    copies += Ask(&rules, facts) == Reason::kLimit;
    if (tenths == 50) {
      EXPECT_EQ(rules.GapBytes(facts), UINT64_MAX) << "it need not be looked at";
    }
  }
  EXPECT_EQ(copies, 6) << "in a minute";
}

TEST(RulesTest, CopyAtTheLimitThatTookLongIsFollowedByALongPause) {
  Rules rules = RulesOf("limit=90%");
  ASSERT_EQ(rules.Due(At(1, 0, 95)), Reason::kLimit);
  rules.NoteSaved(Reason::kLimit, At(1, 0, 95), 2 * kSecond);
  EXPECT_EQ(rules.Due(At(4, 0, 50)), Reason::kNone);
  EXPECT_EQ(rules.Due(At(40, 0, 95)), Reason::kNone);
  EXPECT_EQ(rules.Due(At(41, 0, 95)), Reason::kLimit);
}

TEST(RulesTest, ClockThatGoesBackDoesNotSilenceTheLimit) {
  Rules rules = RulesOf("limit=90%");
  EXPECT_EQ(Ask(&rules, {kYear, 0, 95 * kMiB, 100 * kMiB}), Reason::kLimit);
  EXPECT_EQ(Ask(&rules, At(1, 0, 50)), Reason::kNone);
  EXPECT_EQ(Ask(&rules, At(11, 0, 95)), Reason::kLimit);
}

TEST(RulesTest, LimitIsLookedAtMoreOftenTheNearerItIs) {
  Rules rules = RulesOf("limit=90%");
  EXPECT_EQ(rules.GapBytes(At(1, 0, 10)), 40 * kMiB);
  EXPECT_EQ(rules.GapBytes(At(1, 0, 88)), kMiB);
  EXPECT_LT(rules.GapBytes(At(1, 0, 90)), kMiB);
  EXPECT_EQ(rules.GapBytes(At(1)), UINT64_MAX) << "there is no limit";
  EXPECT_EQ(RulesOf("every=1s").GapBytes(At(1, 0, 88)), UINT64_MAX);
}

TEST(RulesTest, LimitDoesNotWaitForTheRestBehindALongCopy) {
  Rules rules = RulesOf("limit=90%,peak+10%");
  const Facts facts = At(1, 10, 10);
  ASSERT_EQ(rules.Due(facts), Reason::kPeak);
  rules.NoteSaved(Reason::kPeak, facts, kSecond);
  EXPECT_EQ(rules.Due(At(3, 20, 10)), Reason::kNone);
  EXPECT_EQ(rules.Due(At(3, 20, 95)), Reason::kLimit);
  EXPECT_EQ(rules.Due(At(22, 20, 10)), Reason::kPeak);
}

TEST(RulesTest, CopyThatFailedIsTriedAgainMoreAndMoreRarely) {
  Rules rules = RulesOf("every=1s");
  uint64_t seconds = 1;
  for (const uint64_t pause : {1, 2, 4, 8, 16, 32, 64, 64}) {
    EXPECT_EQ(rules.Due(At(seconds)), Reason::kEvery);
    rules.NoteFailed(seconds * kSecond);
    EXPECT_EQ(rules.Due({(seconds + pause) * kSecond - 1, 0, 0, 0}), Reason::kNone);
    seconds += pause;
  }
}

TEST(RulesTest, BlocksThatWereOldAlreadyAreNotSavedAgain) {
  Rules rules = RulesOf("age=100s");
  EXPECT_FALSE(rules.IsAgeScanDue(99 * kSecond));
  ASSERT_TRUE(rules.IsAgeScanDue(100 * kSecond));
  ASSERT_TRUE(rules.IsAgeDue(100 * kSecond, 0));
  rules.NoteSaved(Reason::kAge, At(100), 0);
  EXPECT_EQ(rules.seen_nanos(), 1u);
  EXPECT_FALSE(rules.IsAgeScanDue(199 * kSecond));
  ASSERT_TRUE(rules.IsAgeScanDue(200 * kSecond));
  EXPECT_FALSE(rules.IsAgeDue(200 * kSecond, 150 * kSecond));
  EXPECT_FALSE(rules.IsAgeScanDue(249 * kSecond));
  ASSERT_TRUE(rules.IsAgeScanDue(250 * kSecond));
  EXPECT_TRUE(rules.IsAgeDue(250 * kSecond, 150 * kSecond));
}

TEST(RulesTest, BlocksThatAreJustNotOldDoNotCauseAScanWithEachSample) {
  Rules rules = RulesOf("age=160s");
  ASSERT_TRUE(rules.IsAgeScanDue(200 * kSecond));
  EXPECT_FALSE(rules.IsAgeDue(200 * kSecond, 40 * kSecond + 1));
  EXPECT_FALSE(rules.IsAgeScanDue(209 * kSecond));
  EXPECT_TRUE(rules.IsAgeScanDue(210 * kSecond));
}

TEST(SettingsTest, AllWords) {
  Settings settings;
  std::string_view wrong;
  ASSERT_TRUE(
      ParseSettings("peak+25%,every=2m,limit=80%,age=1d,keep=7,dir=/x y", &settings, &wrong));
  EXPECT_EQ(settings.peak_percent, 25u);
  EXPECT_EQ(settings.every_nanos, 120 * kSecond);
  EXPECT_EQ(settings.limit_percent, 80u);
  EXPECT_EQ(settings.age_nanos, 86'400 * kSecond);
  EXPECT_EQ(settings.keep, 7u);
  EXPECT_EQ(settings.directory, "/x y");
}

TEST(SettingsTest, TheWordThatIsWrongIsNamed) {
  Settings settings;
  std::string_view wrong;
  for (const char* const word :
       {"evry=60s", "every=60",   "every=0s",  "every=-1s",  "every=1001d", "every=9999999999s",
        "every=",   "peak",       "peak+%",    "peak+0%",    "peak+10",     "peak+1001%",
        "limit=0%", "limit=100%", "limit=9a%", "limit=90%%", "age=1y",      "keep=0",
        "keep=100", "keep=",      "dir=",      " every=1s",  "limit=80%",   ""}) {
    const std::string text = std::string("limit=90%,") + word + ",age=1h";
    EXPECT_FALSE(ParseSettings(text, &settings, &wrong)) << text;
    EXPECT_EQ(wrong, word);
  }
  EXPECT_FALSE(ParseSettings("every=1s,keep=2,keep=3", &settings, &wrong));
  EXPECT_EQ(wrong, "keep=3");
}

TEST(SettingsTest, FiveCopiesAreKeptUnlessSaid) {
  Settings settings;
  std::string_view wrong;
  ASSERT_TRUE(ParseSettings("every=1s", &settings, &wrong));
  EXPECT_EQ(settings.keep, 5u);
}

TEST(SettingsTest, WordsWithoutATriggerAreRefused) {
  Settings settings;
  std::string_view wrong;
  for (const char* const text : {"keep=3", "dir=/x", "keep=3,dir=/x"}) {
    EXPECT_FALSE(ParseSettings(text, &settings, &wrong)) << text;
    EXPECT_EQ(wrong, "");
  }
}

}  // namespace
}  // namespace allomon::triggers
