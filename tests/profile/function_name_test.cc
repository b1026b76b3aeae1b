#include "tracker/profile/write/function_name.h"

#include "gtest/gtest.h"

namespace allomon {
namespace {

struct Named {
  const char* signature;
  const char* name;
};

class FunctionNameTest : public ::testing::TestWithParam<Named> {};

TEST_P(FunctionNameTest, QualifiedNameIsCutOut) {
  EXPECT_EQ(FunctionNameOf(GetParam().signature), GetParam().name);
}

// The texts are those of __PRETTY_FUNCTION__ from g++ 12 and clang 14.
INSTANTIATE_TEST_SUITE_P(
    BothCompilers, FunctionNameTest,
    ::testing::Values(
        Named{"long unsigned int fib(long unsigned int)", "fib"},
        Named{"unsigned long fib(unsigned long)", "fib"}, Named{"int S::m(int) const", "S::m"},
        Named{"int main()", "main"}, Named{"S::S(int)", "S::S"}, Named{"S::~S()", "S::~S"},
        Named{"T ns::add(T) [with T = char]", "ns::add [T = char]"},
        Named{"T ns::add(T) [T = char]", "ns::add [T = char]"},
        Named{"std::vector<int> f(std::map<int, void (*)(int)>)", "f"},
        Named{"const char* name(int)", "name"}, Named{"const char *name(int)", "name"},
        Named{"{anonymous}::Boxed {anonymous}::fib(const Boxed&)", "fib"},
        Named{"(anonymous namespace)::Boxed (anonymous namespace)::fib(const Boxed &)", "fib"},
        Named{"main(int, char**)::<lambda(int)>", "main(int, char**)::<lambda(int)>"},
        Named{"bool operator<(S, S)", "bool operator<(S, S)"}, Named{"", ""}, Named{"(", "("},
        Named{")", ")"}, Named{"odd", "odd"}));

}  // namespace
}  // namespace allomon
