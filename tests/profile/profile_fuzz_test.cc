#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/profile/golden_files.h"
#include "tests/profile/mutator.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon {
namespace {

using testing::kFuzzRounds;
using testing::kFuzzSeed;
using testing::Mutator;

const std::vector<std::string>& Pieces() {
  static const std::vector<std::string>& pieces =
      *new std::vector<std::string>{"\n",
                                    "\t",
                                    " ",
                                    "-1",
                                    "~",
                                    "2147483647",
                                    "4294967296",
                                    "0x",
                                    "0wx",
                                    "\r",
                                    "\n\n",
                                    "99999999999999999999999999999999999999999",
                                    std::string(1, '\0')};
  return pieces;
}

std::vector<std::string> Texts(const std::string& suffix) {
  std::vector<std::string> texts;
  for (const std::string& path : testing::GoldenFiles(suffix)) {
    texts.push_back(testing::ReadFileOrDie(path));
  }
  return texts;
}

// Whatever is accepted can be written and is then read as the same thing.
template <typename Value, typename Parse, typename Format>
void Fuzz(const std::string& suffix, Parse parse, Format format) {
  const std::vector<std::string> texts = Texts(suffix);
  Mutator mutator(kFuzzSeed, Pieces());
  int accepted = 0;
  for (int i = 0; i < kFuzzRounds; ++i) {
    const std::string text = mutator.Mutate(texts[mutator.Below(texts.size())]);
    Value value;
    std::string error;
    if (!parse(text, &value, &error)) {
      ASSERT_NE(error, "") << text;
      continue;
    }
    ++accepted;
    const std::string canonical = format(value);
    Value again;
    ASSERT_TRUE(parse(canonical, &again, &error)) << error << "\n" << text;
    ASSERT_EQ(format(again), canonical) << text;
  }
  EXPECT_GT(accepted, kFuzzRounds / 50) << "the damage is too great";
  EXPECT_LT(accepted, kFuzzRounds) << "no damage was noticed";
}

TEST(ProfileFuzzTest, DamagedMlmonFiles) { Fuzz<Mlmon>(".out", ParseMlmon, FormatMlmon); }

TEST(ProfileFuzzTest, DamagedAnswers) {
  Fuzz<SourceTable>("sources.txt", ParseSources, FormatSources);
}

}  // namespace
}  // namespace allomon
