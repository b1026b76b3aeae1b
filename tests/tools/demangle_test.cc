#include "tools/symbols/demangle.h"

#include <gtest/gtest.h>

namespace allomon {
namespace {

TEST(Demangled, OldAndNewRust) {
  EXPECT_EQ(Demangled("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
  EXPECT_EQ(Demangled("_RNvNtCs1234_7mycrate3foo3bar.cold"), "mycrate::foo::bar");
  EXPECT_EQ(Demangled("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
  EXPECT_EQ(Demangled("_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE"),
            "alloc::raw_vec::finish_grow");
}

TEST(Demangled, CppAndD) {
  EXPECT_EQ(Demangled("_ZN1a4nameB5cxx11Ei.constprop.0"), "a::name(int)");
  EXPECT_EQ(Demangled("_D8demangle4testFZv"), "demangle.test()");
  EXPECT_EQ(Demangled("_Dmain"), "D main");
}

TEST(Demangled, OtherNamesStay) {
  for (const char* name : {"main", "_Rest", "_D", "_Default", "Exit.exit", "gawk+0x1234", ""}) {
    EXPECT_EQ(Demangled(name), name);
  }
}

// A name of MLton's table may end as if a compiler had cloned it.
TEST(DemangledForeign, LeavesMLtonsNamesAlone) {
  for (const char* name : {"List.part", "Exit.cold", "a.part.0"}) {
    EXPECT_EQ(DemangledForeign(name), name);
  }
}

}  // namespace
}  // namespace allomon
