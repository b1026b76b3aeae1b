// Names in reports: made readable, and recognised as wrappers.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tracker/names/base_name.h"
#include "tracker/names/readable_name.h"
#include "tracker/names/wrappers.h"

namespace allomon {
namespace {

TEST(BareName, HasNeitherReturnTypeNorParameters) {
  EXPECT_EQ(BareName("main"), "main");
  EXPECT_EQ(BareName("a::f(int)"), "a::f");
  EXPECT_EQ(
      BareName(
          "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)"),
      "std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>");
  EXPECT_EQ(BareName("operator new[](unsigned long)"), "operator new[]");
  EXPECT_EQ(BareName("Chunk::operator new(unsigned long, bool)"), "Chunk::operator new");
  EXPECT_EQ(BareName("(anonymous namespace)::Hidden(int)"), "(anonymous namespace)::Hidden");
  EXPECT_EQ(BareName("main::{lambda(int)#1}::operator()(int) const"),
            "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(BareName("decltype (declval<A>()) std::invoke<A>(A&&)"), "std::invoke<A>");
  EXPECT_EQ(BareName("bool operator< <char>(A<char> const&)"), "operator< <char>");
  EXPECT_EQ(BareName("<alloc::vec::Vec<T> as F>::f"), "<alloc::vec::Vec<T> as F>::f");
  EXPECT_EQ(BareName("gawk+0x1234"), "gawk+0x1234");
}

TEST(Wrappers, KnownOnesAreOfManyPrograms) {
  const Wrappers known(kKnownWrappers);
  for (const char* name : {"xmalloc",
                           "ruby_xmalloc",
                           "png_xcalloc",
                           "palloc",
                           "palloc0",
                           "repalloc",
                           "os::malloc(unsigned long, MEMFLAGS, NativeCallStack const&)",
                           "Perl_safesysmalloc",
                           "CRYPTO_zalloc",
                           "sqlite3Malloc",
                           "lalloc",
                           "monoeg_malloc",
                           "g_malloc0",
                           "luaM_realloc_",
                           "operator new(unsigned long)",
                           "Chunk::operator new(unsigned long)",
                           "finish_grow",
                           "__gnat_malloc",
                           "system__pool_global__allocate",
                           "system__storage_pools__subpools__allocate_any_controlled",
                           "x264_malloc",
                           "zmalloc_with_flags",
                           "x265::x265_malloc(unsigned long)",
                           "ngx_palloc_large",
                           "QArrayData::allocate(QArrayData**, long long, long long)",
                           "isc__mem_get_noprefix",
                           "git__malloc",
                           "alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle",
                           "<alloc::string::String as core::clone::Clone>::clone",
                           "_RNvNtCs123_5alloc7raw_vec11finish_growNtB2_6Global",
                           "std::string std::operator+<char>(char const*, std::string const&)",
                           "void std::vector<int>::_M_realloc_insert<int>(int&&)",
                           "void std::__1::vector<int>::__push_back_slow_path<int>(int&&)"}) {
    EXPECT_TRUE(known.Contain(name)) << name;
  }
}

TEST(Wrappers, AFunctionThatOnlyMentionsOneIsNone) {
  const Wrappers known(kKnownWrappers);
  for (const char* name : {"main", "Serve(std::string)", "std_f", "xmallocs", "mystd::f()",
                           "std::string Serve(int)", "Pool::xmalloc_stats()", "finish_growth",
                           "_RNvCs1_4main5serveNtNtCs2_5alloc6string6StringE", "gawk+0x1234"}) {
    EXPECT_FALSE(known.Contain(name)) << name;
  }
}

TEST(Wrappers, SettingExtendsOrEmpties) {
  const Wrappers unset(WrappersOf(ProfileKind::kAlloc, std::nullopt));
  EXPECT_TRUE(unset.Contain("xmalloc"));
  const Wrappers extended(WrappersOf(ProfileKind::kAlloc, "Serve,gawk+0x*,pool::[a-c]*"));
  for (const char* name : {"xmalloc", "Serve", "Serve(int)", "gawk+0x1234", "pool::b(int)"}) {
    EXPECT_TRUE(extended.Contain(name)) << name;
  }
  EXPECT_FALSE(extended.Contain("pool::d(int)"));
  EXPECT_FALSE(Wrappers(WrappersOf(ProfileKind::kAlloc, "")).Contain("xmalloc"));
}

// A wrapper that takes time is charged for it.
TEST(Wrappers, KnownOnesAreOfMemoryOnly) {
  EXPECT_FALSE(Wrappers(WrappersOf(ProfileKind::kTime, std::nullopt)).Contain("xmalloc"));
  EXPECT_TRUE(Wrappers(WrappersOf(ProfileKind::kTime, "xmalloc")).Contain("xmalloc"));
}

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
