// More labels than fit.  In a process of its own: sets live until its end.
#include <string>

#include "tests/labels/labelled.h"

namespace allomon {
namespace {

using testing::Counts;
using testing::Labelled;

TEST(BoundsTest, LongTextsAreCutWithAMark) {
  Labelled labelled;
  const std::string value(10 << 20, 'v');
  const std::string key(1000, 'k');
  const ScopedLabel label(key, value);
  EXPECT_EQ(labelled.Now(), std::string(61, 'k') + "…=" + std::string(253, 'v') + "…");
  EXPECT_EQ(Counts().cut_sets, 1u);
  const std::string whole(256, 'w');
  const ScopedLabel inner(key, whole);
  EXPECT_EQ(labelled.Now(), std::string(61, 'k') + "…=" + whole);
}

TEST(BoundsTest, CharacterIsNotCutInTwo) {
  Labelled labelled;
  const std::string value = std::string(251, 'v') + "\xf0\x9f\x98\x80 more than fits";
  const ScopedLabel label("key", value);
  EXPECT_EQ(labelled.Now(), "key=" + std::string(251, 'v') + "…");
}

TEST(BoundsTest, TwelveLabelsTheInnermostOnes) {
  Labelled labelled;
  std::string keys[20];
  allomon_label_scope scopes[20];
  for (int i = 0; i < 20; ++i) {
    keys[i] = std::string(1, static_cast<char>('a' + i));
    allomon_label_push(&scopes[i], keys[i].c_str(), "");
  }
  EXPECT_EQ(labelled.Now(), "i= j= k= l= m= n= o= p= q= r= s= t=");
  EXPECT_EQ(Counts().crowded_sets, 1u);
  for (int i = 20; i-- > 0;) allomon_label_pop(&scopes[i]);
}

// A number for each request uses the sets up.  The tenants of the outer scopes can still be
// distinguished.
TEST(BoundsTest, SeventyThousandRequests) {
  Labelled labelled;
  for (int i = 0; i < 70'000; ++i) {
    const std::string tenant = "tenant " + std::to_string(i % 50);
    const ScopedLabel outer("tenant", tenant);
    const std::string request = std::to_string(i);
    const ScopedLabel inner("request", request);
    EXPECT_FALSE(CurrentLabels().empty());
    if (i == 1000) {
      EXPECT_EQ(labelled.Now(), "request=1000 tenant=tenant 0");
    }
    if (i >= 69'000) {
      EXPECT_EQ(labelled.Now(), "request=(other) tenant=" + tenant);
    }
  }
  EXPECT_LE(Counts().sets, 65'536u);
  EXPECT_GT(Counts().others, 4'000u);
  // As many tenants as requests: in the end it is only known that there were labels.
  for (int i = 0; i < 3000; ++i) {
    const std::string more = std::to_string(i);
    const ScopedLabel outer("shard", more);
    const ScopedLabel inner("request", more);
    EXPECT_FALSE(CurrentLabels().empty());
  }
  const ScopedLabel outer("new key", "new");
  EXPECT_EQ(labelled.Now(), "(other)=(other)");
  EXPECT_EQ(Counts().sets, 65'536u);
  const ScopedLabel inner("tenant", "known");
  EXPECT_EQ(labelled.Now(), "(other)=(other)");
}

}  // namespace
}  // namespace allomon
