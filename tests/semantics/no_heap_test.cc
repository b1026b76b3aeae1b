// A program that has trackers and forgot the heap.
#include <optional>

#include "gtest/gtest.h"
#include "tracker/heap_client.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Follow {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
};

TEST(NoHeapTest, StartSaysWhatIsMissingInsteadOfSeeingNothing) {
  const absl::Status status = Tracker::start(1, Follow{}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("@allomon//allocator:malloc"), std::string::npos) << status;
  EXPECT_FALSE(Tracker::is_sampling());
  heap_client::AnnounceHeap();
  EXPECT_TRUE(Tracker::start(1, Follow{}).ok());
  EXPECT_TRUE(Tracker::stop().ok());
}

}  // namespace
}  // namespace allomon
