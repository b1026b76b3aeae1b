#include <gtest/gtest.h>

#include <string>

#include "tests/profile/mutator.h"
#include "tools/text/plain_text.h"

namespace allomon {
namespace {

std::string Utf8(const std::string& text) { return Printable(text, Charset::kUtf8); }
std::string Ascii(const std::string& text) { return Printable(text, Charset::kAscii); }

TEST(PrintableTest, WhatCouldActOnATerminalIsSpelledOut) {
  EXPECT_EQ(Utf8("\033[2J"), "\\x1b[2J");
  EXPECT_EQ(Utf8(std::string("a\0b\r\n\t\x7f", 7)), "a\\x00b\\x0d\\x0a\\x09\\x7f");
  // CSI, as one C1 character and as the single byte of Latin-1.
  EXPECT_EQ(Utf8("\xc2\x9b"
                 "31m"),
            "\\x9b31m");
  EXPECT_EQ(Utf8("\x9b"
                 "31m"),
            "\\x9b31m");
}

TEST(PrintableTest, WhatHidesOrTurnsTextIsSpelledOut) {
  EXPECT_EQ(Utf8("a\u202eb"), "a\\u202eb");
  EXPECT_EQ(Utf8("a\u200bb\ufeff"), "a\\u200bb\\ufeff");
  EXPECT_EQ(Utf8("\U000e0041"), "\\ue0041");
}

TEST(PrintableTest, OtherTextStays) {
  EXPECT_EQ(Utf8("Größe::名前(λ)"), "Größe::名前(λ)");
  EXPECT_EQ(Utf8(R"(operator""_x \n)"), R"(operator""_x \n)");
  EXPECT_EQ(Utf8(""), "");
}

TEST(PrintableTest, OutsideOfUtf8OnlyAsciiIsSafe) {
  EXPECT_EQ(Ascii("a\xc3\xa4"), "a\\xe4");
  EXPECT_EQ(Ascii("名"), "\\u540d");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreSpelledOutOneByOne) {
  EXPECT_EQ(Utf8("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Utf8("a\xc3"), "a\\xc3");                         // the sequence is cut short
  EXPECT_EQ(Utf8("\xc0\xaf"), "\\xc0\\xaf");                  // an overlong form of '/'
  EXPECT_EQ(Utf8("\xed\xa0\x80"), "\\xed\\xa0\\x80");         // a surrogate
  EXPECT_EQ(Utf8("\xf4\x90\x80\x80").substr(0, 4), "\\xf4");  // above U+10FFFF
}

TEST(PrintableTest, NeverLetsAControlCharacterThrough) {
  testing::Mutator mutator(testing::kFuzzSeed, {"\033[0m", "\xc2\x9b", "\u202e", "名", "\n"});
  for (int round = 0; round < testing::kFuzzRounds; ++round) {
    const std::string text = mutator.Mutate("ns::Größe::run  file.cc: 12");
    for (Charset charset : {Charset::kUtf8, Charset::kAscii}) {
      const std::string kept = Printable(text, charset);
      for (std::string_view rest = kept; !rest.empty();) {
        const auto point = FirstCodePoint(rest);
        ASSERT_TRUE(point.has_value()) << kept;
        ASSERT_FALSE(point->value < 0x20 || (0x7f <= point->value && point->value <= 0x9f));
        ASSERT_TRUE(charset == Charset::kUtf8 || point->value < 0x80) << kept;
        rest.remove_prefix(point->length_bytes);
      }
    }
  }
}

TEST(ColumnsTest, WideAndCombiningCharactersCountAsTheyAreShown) {
  EXPECT_EQ(Columns("abc"), 3);
  EXPECT_EQ(Columns("名前"), 4);
  EXPECT_EQ(Columns("e\u0301"), 1);
  EXPECT_EQ(Columns("ä…█"), 3);
  EXPECT_EQ(Columns("\xff"), 1);
}

TEST(CutToEndTest, TheEndIsKept) {
  EXPECT_EQ(CutToEnd("ns::Class::Method", 17, Charset::kUtf8), "ns::Class::Method");
  EXPECT_EQ(CutToEnd("ns::Class::Method", 9, Charset::kUtf8), "…::Method");
  EXPECT_EQ(CutToEnd("ns::Class::Method", 9, Charset::kAscii), "~::Method");
  EXPECT_EQ(CutToEnd("abc", 1, Charset::kUtf8), "…");
  EXPECT_EQ(CutToEnd("abc", 0, Charset::kUtf8), "");
}

TEST(CutToBeginningTest, TheBeginningIsKept) {
  EXPECT_EQ(CutToBeginning("palloc", 6, Charset::kUtf8), "palloc");
  EXPECT_EQ(CutToBeginning("palloc", 5, Charset::kUtf8), "pall…");
  EXPECT_EQ(CutToBeginning("palloc", 1, Charset::kAscii), "~");
  EXPECT_EQ(CutToBeginning("palloc", 0, Charset::kAscii), "");
  EXPECT_EQ(CutToBeginning("名前名前", 6, Charset::kUtf8), "名前…");
}

TEST(CutToEndTest, AWideCharacterIsNotCutInTwo) {
  EXPECT_EQ(CutToEnd("名前名前", 6, Charset::kUtf8), "…名前");
  for (int columns = 0; columns < 9; ++columns) {
    EXPECT_LE(Columns(CutToEnd("名前名前", columns, Charset::kUtf8)), columns);
  }
}

TEST(XmlTest, MarkupIsEscapedAndControlCharactersAreGone) {
  EXPECT_EQ(XmlEscaped("a<b> & \"c\"\x01"), "a&lt;b&gt; &amp; &quot;c&quot;?");
}

}  // namespace
}  // namespace allomon
