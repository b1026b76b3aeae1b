// Linked with a malloc that does not report: a gate that would see nothing must not pass.
#include <gtest/gtest-spi.h>

#include "tracker/gates/gtest.h"

namespace allomon {
namespace {

TEST(UnreportedMalloc, GateFailsAndNamesTheRemedy) {
  EXPECT_NONFATAL_FAILURE(ALLOMON_EXPECT_ALLOCATIONS_LE(1000){}, "malloc = \"@allomon//allocator");
  EXPECT_NONFATAL_FAILURE(ALLOMON_EXPECT_ALLOCATIONS_LE(1000){}, "CMake Allomon::malloc");
}

// checks inv.gates.probe: the probe was not seen.
TEST(UnreportedMalloc, ScopeSaysSo) {
  EXPECT_NE(AllocationsOf([] {}).error, "");
}

}  // namespace
}  // namespace allomon
