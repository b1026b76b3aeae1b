// Tests the meaning of a picture's colours.
#include "tools/report/flat/origin.h"

#include <gtest/gtest.h>

namespace allomon::report {
namespace {

TEST(OriginTest, OfSourceFiles) {
  EXPECT_EQ(OriginOf({"Server::Open(int)", "server/server.cc: 12"}), Origin::kProgram);
  EXPECT_EQ(OriginOf({"Server::Open(int)", "/home/me/server/server.cc: 12"}), Origin::kProgram);
  EXPECT_EQ(OriginOf({"absl::Cord::f()", "/usr/include/absl/cord.h: 7"}), Origin::kLibrary);
  EXPECT_EQ(OriginOf({"void __gnu::f()", "/usr/include/c++/12/bits/alloc.h: 7"}), Origin::kRuntime);
}

TEST(OriginTest, OfModules) {
  EXPECT_EQ(OriginOf({"f", "python3.11: 0x5132c0"}), Origin::kProgram);
  EXPECT_EQ(OriginOf({"f", "libssl.so.3: 0x5132c0"}), Origin::kLibrary);
  EXPECT_EQ(OriginOf({"f", "_json.cpython-311-x86_64-linux-gnu.so: 0x12"}), Origin::kLibrary);
  EXPECT_EQ(OriginOf({"__alloc_dir", "libc.so.6: 0xcfcf0"}), Origin::kRuntime);
  EXPECT_EQ(OriginOf({"_dl_init", "ld-linux-x86-64.so.2: 0xcf0"}), Origin::kRuntime);
}

// Templates of the library are compiled into the program.
TEST(OriginTest, OfTheStandardLibraryByName) {
  EXPECT_EQ(OriginOf({"void std::vector<S>::emplace_back<S>(S&&)", "server: 0x12"}),
            Origin::kRuntime);
  EXPECT_EQ(OriginOf({"operator new(unsigned long)", "server: 0x12"}), Origin::kRuntime);
  EXPECT_EQ(OriginOf({"std_f()", "server: 0x12"}), Origin::kProgram);
}

TEST(OriginTest, OfWhatIsNoFunction) { EXPECT_EQ(OriginOf({"<gc>", ""}), Origin::kNone); }

}  // namespace
}  // namespace allomon::report
