#include "tools/report/short_name.h"

#include <gtest/gtest.h>

namespace allomon::report {
namespace {

// A name that is long enough to be shortened.
const std::string kLong(60, 'x');

TEST(ShortName, ShortOnesStay) {
  EXPECT_EQ(ShortName("int f<int>(std::vector<int>)"), "int f<int>(std::vector<int>)");
}

TEST(ShortName, ArgumentsAndReturnTypesGo) {
  EXPECT_EQ(ShortName("std::_Rb_tree_iterator<std::pair<int const, std::unique_ptr<Session> > > "
                      "std::_Rb_tree<int, std::less<int>, std::allocator<std::pair<int const, "
                      "int> > >::_M_emplace_hint_unique<std::tuple<> >(std::tuple<>&&)"),
            "std::_Rb_tree<...>::_M_emplace_hint_unique<...>(...)");
}

TEST(ShortName, NothingIsPutIntoEmptyBrackets) {
  EXPECT_EQ(ShortName("void " + kLong + "::f<>()"), kLong + "::f<>()");
}

TEST(ShortName, WhatFollowsTheParametersStays) {
  EXPECT_EQ(ShortName(kLong + "::f(int) const"), kLong + "::f(...) const");
  EXPECT_EQ(ShortName(kLong + "::f(int)::{lambda(int)#1}::operator()(int) const"),
            kLong + "::f(...)::{lambda(...)#1}::operator()(...) const");
  EXPECT_EQ(ShortName(kLong + "(int) [clone .cold]"), kLong + "(...) [clone .cold]");
}

TEST(ShortName, AnonymousNamespacesAreNoParameters) {
  EXPECT_EQ(ShortName("bool allomon::(anonymous namespace)::" + kLong + "::f(int)"),
            "allomon::(anonymous namespace)::" + kLong + "::f(...)");
}

TEST(ShortName, OperatorsAreNoBrackets) {
  EXPECT_EQ(ShortName("std::ostream& " + kLong + "::operator<< <char>(std::ostream&)"),
            kLong + "::operator<< <...>(...)");
  EXPECT_EQ(ShortName("void* " + kLong + "::operator new(unsigned long)"),
            kLong + "::operator new(...)");
  EXPECT_EQ(ShortName("int* " + kLong + "::operator->()"), kLong + "::operator->()");
}

TEST(ShortName, BracketsThatDoNotPairChangeNothing) {
  for (const char* tail : {"<", "(", ">", ")", "f<int(", "a > b"}) {
    EXPECT_EQ(ShortName(kLong + tail), kLong + tail);
  }
}

TEST(ShortName, NamesOfOtherLanguagesStay) {
  const std::string camel = "camlStdlib__Map__fun_" + kLong + "_1234";
  EXPECT_EQ(ShortName(camel), camel);
}

}  // namespace
}  // namespace allomon::report
