// The only heap of this program is a SampledResource: neither the allocator nor CustomMemory is
// linked.
#include "tracker/sampled_resource.h"

#include <optional>

#include "gtest/gtest.h"
#include "tracker/tracker.h"

#if __has_include(<memory_resource>)

namespace allomon {
namespace {

int g_live = 0;

struct Counting {
  std::optional<char> alloc_major(const Allocation&) {
    ++g_live;
    return 0;
  }
  void dealloc_major(char) { --g_live; }
};

TEST(SampledResourceTest, IsAHeapThatAProgramMayHaveAlone) {
  SampledResource sampled;
  const auto id = Tracker::start(1, Counting{});
  ASSERT_TRUE(id.ok()) << id.status();
  void* block = sampled.allocate(40);
  EXPECT_EQ(g_live, 1);
  sampled.deallocate(block, 40);
  EXPECT_EQ(g_live, 0);
  EXPECT_TRUE(Tracker::stop().ok());
}

}  // namespace
}  // namespace allomon

#endif  // std::pmr
