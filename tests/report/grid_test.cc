#include "tools/text/grid.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/text/names.h"

namespace allomon::report {
namespace {

std::string Formatted(const std::vector<std::string>& names, int width, bool keeps_apart = true) {
  Column column = {"name", Column::Kind::kText};
  column.cut = FitName;
  column.keeps_apart = keeps_apart;
  Grid grid = {{column}, {}};
  for (const std::string& name : names) grid.rows.push_back({{name}});
  return FormatGrid(std::move(grid), width, Charset::kAscii, false);
}

const std::string kInt = "Cache<std::string, int>::Insert(int)";
const std::string kLong = "Cache<std::string, long>::Insert(long)";

TEST(Grid, NamesThatAreCutToOneTextSayWhatTheyDifferIn) {
  EXPECT_EQ(Formatted({kInt, kLong, "g()"}, 30),
            "name\nCache::Insert int>::Insert(i~\nCache::Insert long>::Insert(~\ng()\n");
  EXPECT_EQ(Formatted({"alpha::x::Foo::bar", "beta::x::Foo::bar"}, 16),
            "name\n~Foo::bar alpha\n~Foo::bar beta\n");
}

TEST(Grid, NamesThatFitOrAreTheSameAreLeftAlone) {
  EXPECT_EQ(Formatted({kInt, kLong}, 80), "name\n" + kInt + "\n" + kLong + "\n");
  EXPECT_EQ(Formatted({kInt, kInt}, 30), "name\nCache::Insert\nCache::Insert\n");
  EXPECT_EQ(Formatted({kInt, kLong}, 30, false), "name\nCache::Insert\nCache::Insert\n");
}

TEST(Grid, NoLineIsLongerThanItsWidth) {
  for (int width = 6; width < 60; ++width) {
    const std::string text =
        Formatted({kInt, kLong, "Cache<A>::Insert", "Cache<\xc3\xa4>::Insert"}, width);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, static_cast<size_t>(width) + 1) << text;  // a byte more for a letter
      begin = end + 1;
    }
  }
}

}  // namespace
}  // namespace allomon::report
