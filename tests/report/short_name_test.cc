#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/text/names.h"

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

TEST(ShortName, RustKeepsTypeAndTrait) {
  EXPECT_EQ(ShortName("<alloc::vec::Vec<serde_json::value::Value> as "
                      "core::iter::traits::collect::FromIterator<T>>::from_iter"),
            "<alloc::vec::Vec<...> as core::iter::traits::collect::FromIterator<...>>::from_iter");
  EXPECT_EQ(ShortName("<regex_automata::meta::strategy::Pre<P> as "
                      "regex_automata::Strategy>::search::<" +
                      kLong + ">"),
            "<regex_automata::meta::strategy::Pre<...> as "
            "regex_automata::Strategy>::search::<...>");
  EXPECT_EQ(ShortName("<hashbrown::raw::RawTable<(u32, " + kLong + ")>>::reserve_rehash"),
            "<hashbrown::raw::RawTable<...>>::reserve_rehash");
}

using Names = std::vector<std::string>;

TEST(ShortNames, WhatTellsThemApartStays) {
  const std::string begin = "void " + kLong + "::f<std::allocator<char>, ";
  EXPECT_EQ(ShortNames({begin + "int>(int, char)", begin + "long>(long, char)", "g()"}),
            (Names{kLong + "::f<..., int>(int, ...)", kLong + "::f<..., long>(long, ...)", "g()"}));
  EXPECT_EQ(ShortNames({"int " + kLong + "(int)", "int " + kLong + "(int)"}),
            (Names{kLong + "(...)", kLong + "(...)"}));
}

TEST(ShortNames, AlsoDeepInArguments) {
  const std::string begin = "void " + kLong + "<std::map<std::string, std::vector<";
  EXPECT_EQ(ShortNames({begin + "int> > >::f()", begin + "long> > >::f()"}),
            (Names{kLong + "<std::map<..., std::vector<int> > >::f()",
                   kLong + "<std::map<..., std::vector<long> > >::f()"}));
}

TEST(ShortNames, WholeWhereThatIsAll) {
  const Names results = {"int " + kLong + "<int>(int)", "long " + kLong + "<int>(int)"};
  EXPECT_EQ(ShortNames(results), results);
  EXPECT_EQ(ShortNames({kLong + "(int)", kLong + "(int, int)"}),
            (Names{kLong + "(int)", kLong + "(int, int)"}));
  EXPECT_EQ(ShortNames({kLong + "()", kLong + "(int)"}), (Names{kLong + "()", kLong + "(...)"}));
}

TEST(ShortNames, AnyBytes) {
  const char kAlphabet[] = "<>()a, :-*";
  uint32_t random = 1;
  Names names;
  for (int i = 0; i < 3000; ++i) {
    std::string name = kLong;
    for (int j = 0; j < 12; ++j) {
      random = random * 1664525 + 1013904223;
      name += kAlphabet[(random >> 16) % (sizeof(kAlphabet) - 1)];
    }
    names.push_back(i % 2 == 0 ? name : name.substr(59));
  }
  const Names shown = ShortNames(names);
  std::map<std::string, std::string> by_text;
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(by_text.emplace(shown[i], names[i]).first->second, names[i]);
  }
}

}  // namespace
}  // namespace allomon::report
