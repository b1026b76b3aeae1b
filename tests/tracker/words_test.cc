#include "tracker/base/words.h"

#include "gtest/gtest.h"

namespace allomon::internal {
namespace {

TEST(WordsTest, EveryStartedWordCountsAndNoSizeWraps) {
  EXPECT_EQ(WordsOf(0), 0u);
  EXPECT_EQ(WordsOf(1), 1u);
  EXPECT_EQ(WordsOf(8), 1u);
  EXPECT_EQ(WordsOf(9), 2u);
  EXPECT_EQ(WordsOf(UINT64_MAX), uint64_t{1} << 61);
  EXPECT_EQ(WordsWithHeader(UINT64_MAX), (uint64_t{1} << 61) + 1);
}

TEST(WordsTest, FastFormIsTheSameForEverySizeThatMallocCanGive) {
  for (uint64_t size_bytes = 0; size_bytes < 100; ++size_bytes) {
    EXPECT_EQ(WordsWithHeaderFast(size_bytes), WordsWithHeader(size_bytes)) << size_bytes;
  }
  EXPECT_EQ(WordsWithHeaderFast(INT64_MAX), WordsWithHeader(INT64_MAX));
}

}  // namespace
}  // namespace allomon::internal
