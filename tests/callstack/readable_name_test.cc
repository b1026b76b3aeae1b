#include "tracker/names/readable_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tracker/names/base_name.h"

namespace allomon {
namespace {

TEST(ReadableName, PlainNamesStay) {
  for (const char* name : {"main", "__libc_start_main", "_", "", "std::x", "_zoo", ".L1", "main.f",
                           "memcpy.avx2", "runtime.mallocgc", "x.12", "_RNvC1a1b", "_D1a1bFZv"}) {
    EXPECT_EQ(ReadableName(name), name);
  }
}

TEST(ReadableName, CopiesAndPartsAreTheFunction) {
  EXPECT_EQ(ReadableName("parse.constprop.0"), "parse");
  EXPECT_EQ(ReadableName("parse.isra.0.cold"), "parse");
  EXPECT_EQ(ReadableName("parse.part.0.constprop.1"), "parse");
  EXPECT_EQ(ReadableName("parse.cold"), "parse");
  EXPECT_EQ(ReadableName("parse.llvm.1234567"), "parse");
  EXPECT_EQ(ReadableName("parse.lto_priv.0"), "parse");
  EXPECT_EQ(ReadableName("main.parse.cold"), "main.parse");
  EXPECT_EQ(ReadableName("_ZN1a1fEi.part.0"), "a::f(int)");
}

TEST(ReadableName, AbiTagsAreDropped) {
  EXPECT_EQ(ReadableName("_ZN1a4nameB5cxx11Ev"), "a::name()");
  EXPECT_EQ(ReadableName("_ZN1a4nameB5cxx11Ev.cold"), "a::name()");
}

TEST(ReadableName, LibcxxIsStdWithoutItsVersion) {
  EXPECT_EQ(ReadableName("_ZNSt3__16vectorIiE9push_backEOi"), "std::vector<int>::push_back(int&&)");
  EXPECT_EQ(ReadableName("_ZNSt6__ndk14sortEPiS0_"), "std::sort(int*, int*)");
  EXPECT_EQ(ReadableName("_ZNSt4__Cr4sortEPi.part.0"), "std::sort(int*)");
  // Names that only resemble it.
  EXPECT_EQ(ReadableName("_ZN5mystd3__14sortEPi"), "mystd::__1::sort(int*)");
  EXPECT_EQ(ReadableName("_ZNSt3__34sortEPi"), "std::__3::sort(int*)");
}

TEST(ReadableName, OldRustNamesHaveNoHash) {
  EXPECT_EQ(ReadableName("_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE"),
            "alloc::raw_vec::finish_grow");
  EXPECT_EQ(
      ReadableName("_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$16reserve_for_push17h0a1b2c3d4e5f6a7bE"),
      "alloc::raw_vec::RawVec<T,A>::reserve_for_push");
  EXPECT_EQ(ReadableName("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_"
                         "str17h0123456789abcdefE"),
            "<alloc::string::String as core::fmt::Write>::write_str");
}

TEST(BaseName, IsTheLastPart) {
  EXPECT_EQ(BaseName(std::string("/usr/bin/python3")), "python3");
  EXPECT_EQ(BaseName(std::string_view("/usr/bin/python3")), "python3");
  EXPECT_EQ(BaseName(std::string("p")), "p");
  EXPECT_EQ(BaseName(std::string_view("folder/")), "");
}

}  // namespace
}  // namespace allomon
