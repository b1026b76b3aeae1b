#include "tracker/names/wrappers.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace allomon
