// Gates without //allocator:malloc: frames of test frameworks, and what an expectation says then.
#include "tracker/gates/framework_frames.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tracker/gates/gtest.h"

namespace allomon::internal {
namespace {

TEST(ShortName, LeavesOutReturnTypeParametersAndTemplateArguments) {
  EXPECT_EQ(ShortName("main"), "main");
  EXPECT_EQ(ShortName("testing::Message::Message()"), "testing::Message::Message");
  EXPECT_EQ(ShortName("testing::AssertionResult Own<int>(int)"), "Own");
  EXPECT_EQ(ShortName("void Own(testing::Message const&)"), "Own");
  EXPECT_EQ(ShortName("std::vector<testing::A, B<C> >::push_back(testing::A&&)"),
            "std::vector::push_back");
  EXPECT_EQ(ShortName("(anonymous namespace)::Own::Run(int)"), "(anonymous namespace)::Own::Run");
  EXPECT_EQ(ShortName("A_B_Test::TestBody()::{lambda()#1}::operator()() const"),
            "A_B_Test::TestBody");
  EXPECT_EQ(ShortName("[unknown]"), "[unknown]");
}

TEST(ShortName, OperatorsDoNotNest) {
  EXPECT_EQ(ShortName("testing::Message& testing::Message::operator<< <int>(int const&)"),
            "testing::Message::operator<<");
  EXPECT_EQ(ShortName("std::map<int, long>::operator[](int const&)"), "std::map::operator[]");
  EXPECT_EQ(ShortName("F<int>::operator()(int) const"), "F::operator()");
  EXPECT_EQ(ShortName("A::operator bool() const"), "A::operator bool");
}

TEST(OwnerOf, FileDecidesWhereItIsKnown) {
  EXPECT_EQ(OwnerOf({"x", "/usr/include/gtest/gtest-message.h", 1}), FrameOwner::kFramework);
  EXPECT_EQ(OwnerOf({"x", "gtest/internal/gtest-port.h", 1}), FrameOwner::kFramework);
  EXPECT_EQ(OwnerOf({"testing::Own()", "own_test.cc", 1}), FrameOwner::kProgram);
  EXPECT_EQ(OwnerOf({"Own()", "/home/me/gtest/own_test.cc", 1}), FrameOwner::kProgram);
  EXPECT_EQ(OwnerOf({"x", "/usr/include/c++/12/bits/stl_vector.h", 1}), FrameOwner::kLibrary);
}

TEST(OwnerOf, NameDecidesWhereNoFileIsKnown) {
  EXPECT_EQ(OwnerOf({"testing::Message::Message()", "", 0}), FrameOwner::kFramework);
  EXPECT_EQ(OwnerOf({"Own()", "", 0}), FrameOwner::kLibrary);
  EXPECT_EQ(OwnerOf({"testing::Test::Run()", "", 0}), FrameOwner::kTestRunner);
}

std::string NamesOf(const std::vector<SourceFrame>& frames) {
  std::string names;
  for (const SourceFrame& frame : Readable(frames)) names += frame.function + " ";
  return names;
}

TEST(Readable, OfALibraryOnlyTheFunctionThatTheProgramCalled) {
  EXPECT_EQ(NamesOf({{"std::vector<int>::_M_realloc_insert(int&&)", "/usr/include/c++/12/v.h", 1},
                     {"std::vector<int>::push_back(int&&)", "/usr/include/c++/12/v.h", 2},
                     {"Own()", "own.cc", 3},
                     {"elsewhere", "", 0},
                     {"main", "own.cc", 4}}),
            "std::vector::push_back Own elsewhere main ");
}

// A program compiled without lines: all of it used to be taken for one library.
TEST(Readable, WithoutLinesTheNamesDecide) {
  EXPECT_EQ(NamesOf({{"[unknown]", "", 0},
                     {"std::vector<int>::push_back(int&&)", "", 0},
                     {"Own()", "", 0},
                     {"A_B_Test::TestBody()", "", 0}}),
            "std::vector::push_back Own A_B_Test::TestBody ");
}

// Linked with a malloc that does not report: a gate that would see nothing must not pass.

TEST(UnreportedMalloc, GateFailsAndNamesTheRemedy) {
  EXPECT_NONFATAL_FAILURE(ALLOMON_EXPECT_ALLOCATIONS_LE(1000){}, "malloc = \"@allomon//allocator");
  EXPECT_NONFATAL_FAILURE(ALLOMON_EXPECT_ALLOCATIONS_LE(1000){}, "CMake Allomon::malloc");
}

// checks inv.gates.probe: the probe was not seen.
TEST(UnreportedMalloc, ScopeSaysSo) {
  EXPECT_NE(AllocationsOf([] {}).error, "");
}

}  // namespace
}  // namespace allomon::internal
