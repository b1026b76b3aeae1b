// --//allocator:backend=LABEL decides which allomon_backend.h is found.  The target
// backend_flag_test builds this program with the flag.
#include <string>

#include "allomon_backend.h"
#include "gtest/gtest.h"

namespace allomon {
namespace {

TEST(ChosenBackend, IsTheOneOfTheFlag) { EXPECT_EQ(std::string(backend::kName), "bump"); }

}  // namespace
}  // namespace allomon
