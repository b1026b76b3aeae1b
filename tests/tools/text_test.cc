// Texts that tools read and write: regular expressions, numbers, mangled names.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tools/symbols/code_file.h"
#include "tools/text/amounts.h"
#include "tools/text/numbers.h"
#include "tools/text/regexp.h"

namespace allomon::mlprof {
namespace {

bool IsValid(std::string_view pattern) { return Regexp::Compile(pattern).has_value(); }

bool Matches(std::string_view pattern, std::string_view text) {
  const std::optional<Regexp> regexp = Regexp::Compile(pattern);
  EXPECT_TRUE(regexp.has_value()) << pattern;
  return regexp && regexp->MatchesPrefix(text);
}

TEST(RegexpTest, MatchIsAPrefixNotASubstring) {
  EXPECT_TRUE(Matches("ab", "abc"));
  EXPECT_FALSE(Matches("bc", "abc"));
  EXPECT_TRUE(Matches(".*bc", "abc"));
  EXPECT_FALSE(Matches("abcd", "abc"));
  EXPECT_TRUE(Matches("()", ""));
}

TEST(RegexpTest, QuantifierBindsTheLastAtomOnly) {
  EXPECT_TRUE(Matches("ab*$", "abbb"));
  EXPECT_FALSE(Matches("ab*$", "abab"));
  EXPECT_TRUE(Matches("(ab)*$", "abab"));
  EXPECT_TRUE(Matches("ab?c$", "ac"));
  EXPECT_FALSE(Matches("ab+c", "ac"));
  EXPECT_TRUE(Matches("a|bc$", "bc"));
}

TEST(RegexpTest, Bounds) {
  EXPECT_FALSE(Matches("a{3}$", "aa"));
  EXPECT_TRUE(Matches("a{3}$", "aaa"));
  EXPECT_FALSE(Matches("a{3}$", "aaaa"));
  EXPECT_TRUE(Matches("a{2,}$", "aaaa"));
  EXPECT_FALSE(Matches("a{2,}$", "a"));
  EXPECT_TRUE(Matches("a{2,4}$", "aaaa"));
  EXPECT_FALSE(Matches("a{2,4}$", "aaaaa"));
  EXPECT_TRUE(Matches("a{0}b", "b"));
  EXPECT_TRUE(Matches("(ab|c){2}d", "abcd"));
}

TEST(RegexpTest, EmptyAlternativesAreErrorsParenthesesAreNot) {
  for (const char* pattern : {"", "a|", "|a", "(|a)", "(a|)"}) {
    EXPECT_FALSE(IsValid(pattern)) << pattern;
  }
  EXPECT_TRUE(Matches("a()b", "ab"));
  EXPECT_TRUE(Matches("(()|a)b", "b"));
}

TEST(RegexpTest, SyntaxErrors) {
  for (const char* pattern : {"*", "a**", "a+?", "(a", "a)", "[a", "[", "[]", "a{", "a{1", "a{1,",
                              "a{2,1}", "a{,1}", "a{x}", "{1}", "a{1}{2}", "+a", "?"}) {
    EXPECT_FALSE(IsValid(pattern)) << pattern;
  }
}

TEST(RegexpTest, OrdinaryCharactersThatLookSpecial) {
  EXPECT_TRUE(Matches("a}]", "a}]"));
  EXPECT_TRUE(Matches("\\*\\.", "*."));
  EXPECT_FALSE(Matches("\\.", "x"));
  EXPECT_TRUE(Matches("a\\", "a\\")) << "a backslash at the end is itself";
  EXPECT_TRUE(Matches("std::vector<int, a>", "std::vector<int, a>"));
}

TEST(RegexpTest, Brackets) {
  EXPECT_TRUE(Matches("[abc]", "b"));
  EXPECT_FALSE(Matches("[^abc]", "b"));
  EXPECT_TRUE(Matches("[^abc]", "\n"));
  EXPECT_TRUE(Matches("[]]", "]"));
  EXPECT_FALSE(Matches("[^]]", "]"));
  EXPECT_TRUE(Matches("[a-c]", "b"));
  EXPECT_FALSE(Matches("[c-a]", "b")) << "an empty range";
  EXPECT_TRUE(Matches("[-a]", "-"));
  EXPECT_TRUE(Matches("[a-c-]", "-"));
  EXPECT_TRUE(Matches("[\\n]", "\\")) << "no escapes in brackets";
  EXPECT_TRUE(Matches("[[-a]", "^")) << "a range that begins with a bracket";
}

// mlprof reads `b-]` as a range, and then misses the closing bracket.
TEST(RegexpTest, MinusBeforeTheClosingBracketIsARange) {
  EXPECT_FALSE(IsValid("[ab-]"));
  EXPECT_TRUE(IsValid("[ab-]]"));
}

TEST(RegexpTest, Classes) {
  EXPECT_TRUE(Matches("[[:digit:]x]+$", "1x2"));
  EXPECT_TRUE(Matches("[[:upper:]]", "A"));
  EXPECT_FALSE(Matches("[[:upper:]]", "a"));
  EXPECT_FALSE(Matches("[^[:space:]]", "\t"));
  EXPECT_FALSE(Matches("[[:alpha:]]", "\xe4")) << "no locale";
  for (const char* pattern : {"[[:blank:]]", "[[:punct:]]", "[[:word:]]", "[[:digit]"}) {
    EXPECT_FALSE(IsValid(pattern)) << pattern;
  }
}

TEST(RegexpTest, CollatingStrings) {
  EXPECT_TRUE(Matches("[[.ab.]c]$", "ab"));
  EXPECT_TRUE(Matches("[[.ab.]c]$", "c"));
  EXPECT_FALSE(Matches("[[.ab.]c]$", "a"));
  EXPECT_FALSE(IsValid("[^[.ab.]]"));
  EXPECT_FALSE(IsValid("[[.ab]"));
}

TEST(RegexpTest, AnchorsHoldAtTheEndsOnly) {
  EXPECT_TRUE(Matches("^a", "a"));
  EXPECT_FALSE(Matches("a^b", "ab"));
  EXPECT_TRUE(Matches("(^|x)a", "a"));
  EXPECT_TRUE(Matches("a$", "a"));
  EXPECT_FALSE(Matches("a$", "ab"));
  EXPECT_FALSE(Matches("a$b", "ab"));
  EXPECT_TRUE(Matches("ab*$|c", "abb"));
  EXPECT_TRUE(Matches("(^a$)|b", "a"));
}

// In mlprof's automaton no anchor's state is entered from another anchor's.
TEST(RegexpTest, AnAnchorTwiceNeverMatches) {
  EXPECT_FALSE(Matches("^^a", "a"));
  EXPECT_FALSE(Matches("a$$", "a"));
  EXPECT_TRUE(Matches("^*a$?$", "a"));
}

TEST(RegexpTest, EmptyRepetitionEnds) {
  EXPECT_TRUE(Matches("()*a", "a"));
  EXPECT_TRUE(Matches("(a*)*b", "aab"));
  EXPECT_TRUE(Matches("((a|())+)+b", "b"));
  EXPECT_TRUE(Matches("(^*)*a", "a"));
}

// A backtracking matcher would try 2^25 paths.
TEST(RegexpTest, NestedRepetitionTakesLinearTime) {
  EXPECT_FALSE(Matches("(a*)*(a*)*(a|aa)*b", std::string(10000, 'a')));
  std::string optional;
  for (int i = 0; i < 25; ++i) optional += "a?";
  EXPECT_TRUE(Matches(optional + "a{25}$", std::string(25, 'a')));
}

// std::regex overflows the stack on these.
TEST(RegexpTest, LongTexts) {
  const std::string text(1000000, 'x');
  EXPECT_FALSE(Matches("(x|y)*z", text));
  EXPECT_TRUE(Matches("(x|y)*$", text));
}

TEST(RegexpTest, HugeExpressionsAreRefusedNotBuilt) {
  EXPECT_FALSE(IsValid("a{10001}"));
  EXPECT_FALSE(IsValid("a{99999999999999999999}"));
  EXPECT_FALSE(IsValid("((a{99}){99}){99}"));
  EXPECT_FALSE(IsValid("(){0,99999}"));
  EXPECT_TRUE(IsValid("a{5000}"));
  EXPECT_FALSE(IsValid(std::string(100000, '(')));
  EXPECT_FALSE(IsValid(std::string(100000, '(') + "a" + std::string(100000, ')')));
  EXPECT_FALSE(IsValid(std::string(100000, 'a')));
}

TEST(RegexpTest, BytesAboveAsciiAreOrdinary) {
  EXPECT_TRUE(Matches("ü+$", "ü")) << "the last byte repeats, not the letter";
  EXPECT_TRUE(Matches("[\x80-\xff]", "\xe4"));
  EXPECT_TRUE(Matches(".", "\xff"));
}

TEST(NumbersTest, MinusIsATilde) {
  EXPECT_EQ(FormatFixed(-1.5, 1), "~1.5");
  EXPECT_EQ(FormatFixed(-0.01, 1), "~0.0") << "Standard ML keeps the sign";
  EXPECT_EQ(FormatFixed(-0.0, 1), "0.0");
  EXPECT_EQ(FormatCommas(-1234), "~1,234");
  EXPECT_EQ(FormatCommas(-123), "~123");
}

TEST(NumbersTest, ExactHalvesRoundToEven) {
  EXPECT_EQ(FormatFixed(0.25, 1), "0.2");
  EXPECT_EQ(FormatFixed(0.75, 1), "0.8");
  EXPECT_EQ(FormatFixed(0.05, 1), "0.1") << "0.05 is a little more in binary";
}

TEST(NumbersTest, PercentagesOfAnyMagnitude) { EXPECT_EQ(FormatFixed(1e300, 1).size(), 303u); }

TEST(NumbersTest, CommasEveryThreeDigitsFromTheEnd) {
  EXPECT_EQ(FormatCommas(0), "0");
  EXPECT_EQ(FormatCommas(999), "999");
  EXPECT_EQ(FormatCommas(1000), "1,000");
  EXPECT_EQ(FormatCommas(1234567), "1,234,567");
}

std::string Real(const char* text) {
  double value = 0;
  return ScanReal(text, &value) ? FormatFixed(value, 3) : "none";
}

TEST(NumbersTest, RealEndsWhereItStopsBeingOne) {
  EXPECT_EQ(Real("5"), "5.000");
  EXPECT_EQ(Real(" 5.25%"), "5.250");
  EXPECT_EQ(Real("5."), "5.000");
  EXPECT_EQ(Real(".5"), "0.500");
  EXPECT_EQ(Real("5e"), "5.000");
  EXPECT_EQ(Real("5e1"), "50.000");
  EXPECT_EQ(Real("5.5E~1x"), "0.550");
  EXPECT_EQ(Real("0x10"), "0.000") << "C would read sixteen";
  EXPECT_EQ(Real("1,5"), "1.000");
}

TEST(NumbersTest, RealSigns) {
  EXPECT_EQ(Real("~5"), "~5.000");
  EXPECT_EQ(Real("-5"), "~5.000");
  EXPECT_EQ(Real("+5"), "5.000");
  EXPECT_EQ(Real("- 5"), "none");
}

TEST(NumbersTest, RealIsNotThere) {
  EXPECT_EQ(Real(""), "none");
  EXPECT_EQ(Real("."), "none");
  EXPECT_EQ(Real("e5"), "none");
  EXPECT_EQ(Real("x"), "none");
}

TEST(NumbersTest, RealBeyondTheReals) {
  double value = 0;
  ASSERT_TRUE(ScanReal("-inf", &value));
  EXPECT_TRUE(std::isinf(value) && value < 0);
  ASSERT_TRUE(ScanReal("NaN", &value));
  EXPECT_TRUE(std::isnan(value));
  ASSERT_TRUE(ScanReal("1e99999999999999999999", &value));
  EXPECT_TRUE(std::isinf(value));
}

TEST(SecondsText, RoundsToTheNextUnit) {
  for (const auto& [seconds, text] :
       std::vector<std::pair<double, std::string>>{{0, "0 s"},
                                                   {2e-8, "20 ns"},
                                                   {0.25, "250 ms"},
                                                   {59.94, "59.9 s"},
                                                   {59.97, "1 min 0 s"},
                                                   {119.6, "2 min 0 s"},
                                                   {3599.4, "59 min 59 s"},
                                                   {3599.7, "1 h 0 min"},
                                                   {7500, "2 h 5 min"}}) {
    EXPECT_EQ(report::SecondsText(seconds), text) << seconds;
  }
}

TEST(Demangled, OldAndNewRust) {
  EXPECT_EQ(Demangled("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
  EXPECT_EQ(Demangled("_RNvNtCs1234_7mycrate3foo3bar.cold"), "mycrate::foo::bar");
  EXPECT_EQ(Demangled("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
  EXPECT_EQ(Demangled("_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE"),
            "alloc::raw_vec::finish_grow");
}

TEST(Demangled, CppAndD) {
  EXPECT_EQ(Demangled("_ZN1a4nameB5cxx11Ei.constprop.0"), "a::name(int)");
  EXPECT_EQ(Demangled("_D8demangle4testFZv"), "demangle.test()");
  EXPECT_EQ(Demangled("_Dmain"), "D main");
}

TEST(Demangled, OtherNamesStay) {
  for (const char* name : {"main", "_Rest", "_D", "_Default", "Exit.exit", "gawk+0x1234", ""}) {
    EXPECT_EQ(Demangled(name), name);
  }
}

// A name of MLton's table may end as if a compiler had cloned it.
TEST(DemangledForeign, LeavesMLtonsNamesAlone) {
  for (const char* name : {"List.part", "Exit.cold", "a.part.0"}) {
    EXPECT_EQ(DemangledForeign(name), name);
  }
}

}  // namespace
}  // namespace allomon::mlprof
