// The parts of names that are kept in narrow space: class and function first.
#include <gtest/gtest.h>

#include "tools/text/names.h"
#include "tools/text/plain_text.h"

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
