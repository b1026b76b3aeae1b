#include "tools/text/names.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/text/plain_text.h"

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

// The parts of names that are kept in narrow space: class and function first.

namespace allomon::report {
namespace {

const std::string kTree =
    "std::_Rb_tree_iterator<std::pair<int const, std::unique_ptr<Session> > > "
    "std::_Rb_tree<int, std::less<int> >::_M_emplace_hint_unique<std::tuple<> >(std::tuple<>&&)";

std::string Fit(const std::string& name, int columns) {
  return FitName(name, columns, Charset::kAscii);
}

TEST(QualifiedName, IsWithoutArgumentsAndWhatIsReturned) {
  EXPECT_EQ(QualifiedName(kTree), "std::_Rb_tree::_M_emplace_hint_unique");
  EXPECT_EQ(QualifiedName("Server::OpenSession(int)"), "Server::OpenSession");
  EXPECT_EQ(QualifiedName("ns::C<int (*)(char)>::f() const"), "ns::C::f");
  EXPECT_EQ(QualifiedName("bool allomon::(anonymous namespace)::C::f(int) [clone .cold]"),
            "allomon::C::f");
  EXPECT_EQ(QualifiedName("main"), "main");
}

TEST(QualifiedName, OfOperatorsIsWithTheirSymbols) {
  EXPECT_EQ(QualifiedName("void* operator new(unsigned long)"), "operator new");
  EXPECT_EQ(QualifiedName("std::ostream& std::operator<< <char>(std::ostream&)"),
            "std::operator<<");
  EXPECT_EQ(QualifiedName("int* Pointer<int>::operator->() const"), "Pointer::operator->");
  EXPECT_EQ(QualifiedName("Call<int>::operator()(int)"), "Call::operator()");
  EXPECT_EQ(QualifiedName("List::operator[](unsigned long)"), "List::operator[]");
  EXPECT_EQ(QualifiedName("my::operators::f()"), "my::operators::f");
}

TEST(QualifiedName, GoesOnInsideOfAFunction) {
  EXPECT_EQ(QualifiedName("Server::Run(int)::{lambda(int)#1}::operator()(int) const"),
            "Server::Run::{lambda#1}::operator()");
  EXPECT_EQ(QualifiedName("Server::Run(int) const::Local::f()"), "Server::Run::Local::f");
}

TEST(QualifiedName, IsEmptyWhereTheNameIsBuiltOtherwise) {
  for (const char* name : {"", "<gc>", "f<int(", "a > b", "main.(*Server).Open", "::f",
                           "f::", "<alloc::vec::Vec<T> as core::ops::Drop>::drop"}) {
    EXPECT_EQ(QualifiedName(name), "") << name;
  }
}

TEST(ClassAndFunction, AreTheLastTwoPartsOrMoreOfALambda) {
  EXPECT_EQ(ClassAndFunction(kTree), "_Rb_tree::_M_emplace_hint_unique");
  EXPECT_EQ(ClassAndFunction("a::b::C::f(int)::{lambda(int)#1}::operator()(int) const"),
            "C::f::{lambda#1}::operator()");
  EXPECT_EQ(ClassAndFunction("main"), "main");
  EXPECT_EQ(ClassAndFunction("<gc>"), "<gc>");
}

TEST(FitName, NamespacesGoBeforeTheClassAndTheClassBeforeTheFunction) {
  const std::string name = "void outer::inner::Class<int>::Method<char>(char const&)";
  EXPECT_EQ(Fit(name, 60), name);
  EXPECT_EQ(Fit(name, 50), "outer::inner::Class::Method");
  EXPECT_EQ(Fit(name, 27), "outer::inner::Class::Method");
  EXPECT_EQ(Fit(name, 26), "~inner::Class::Method");
  EXPECT_EQ(Fit(name, 20), "~Class::Method");
  EXPECT_EQ(Fit(name, 13), "~lass::Method");
  EXPECT_EQ(Fit(name, 7), "~Method");
  EXPECT_EQ(Fit(name, 5), "Meth~");
}

// A tile used to show only "...nst&)" of a name.
TEST(FitName, ParametersAreNeverWhatStays) {
  for (int columns = 8; columns < 90; ++columns) {
    EXPECT_NE(Fit(kTree, columns).find("_M_"), std::string::npos) << columns;
  }
}

TEST(FitName, PlainNamesKeepTheirBeginning) {
  EXPECT_EQ(Fit("_PyUnicode_JoinArray", 9), "_PyUnico~");
  EXPECT_EQ(FitName("Größe", 4, Charset::kUtf8), "Grö…");
}

TEST(FitName, IsNeverWiderThanAsked) {
  for (const std::string& name :
       {kTree, std::string("名前::名前"), std::string("operator new(int)"), std::string("<gc>"),
        std::string("a::b::(anonymous namespace)::")}) {
    for (int columns = 0; columns < 100; ++columns) {
      EXPECT_LE(Columns(FitName(name, columns, Charset::kUtf8)), columns) << name;
    }
  }
}

TEST(FitName, RustKeepsTypeAndTrait) {
  const std::string name =
      "<alloc::vec::Vec<T> as core::iter::traits::FromIterator<T>>::from_iter::<U>";
  EXPECT_EQ(FitName(name, 70, Charset::kAscii),
            "<alloc::vec::Vec as core::iter::traits::FromIterator>::from_iter");
  EXPECT_EQ(FitName(name, 40, Charset::kAscii), "<Vec as FromIterator>::from_iter");
}

}  // namespace
}  // namespace allomon::report
