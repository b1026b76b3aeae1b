// Exact counts in a test.
#include <allomon/tracker/gates/gtest.h>

#include <string>

TEST(Words, ShortWordsAllocateNothing) {
  ALLOMON_EXPECT_ALLOCATIONS_LE(0) { std::string word("short"); }
}

TEST(Words, LongWordsAllocateOnce) {
  ALLOMON_EXPECT_ALLOCATIONS_LE(1) { std::string word(100, 'a'); }
}
