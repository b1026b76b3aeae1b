#include "examples/ci_gate/word_count.h"

#include "tracker/gates/gtest.h"

TEST(WordCount, CountsWords) {
  WordCount words;
  words.Add(" a bc a ");
  EXPECT_EQ(words.CountOf("a"), 2);
  EXPECT_EQ(words.CountOf("bc"), 1);
  EXPECT_EQ(words.CountOf(""), 0);
}

TEST(WordCount, KnownWordsAllocateNothing) {
  WordCount words;
  words.Add("internationalisation");
  ALLOMON_EXPECT_ALLOCATIONS_LE(0) { words.Add("internationalisation internationalisation"); }
}

TEST(WordCount, EverythingIsFreed) {
  ALLOMON_EXPECT_NO_LEAKS {
    WordCount words;
    words.Add("internationalisation of incomprehensibilities");
  }
}
