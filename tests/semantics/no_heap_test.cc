// A program that starts trackers without a sampling heap.
#include <optional>

#include "gtest/gtest.h"
#include "tracker/heap_client.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Follow {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
};

// A program that links an archive of everything gets this error with any build system.
void ExpectRemedies(const absl::Status& status) {
  for (const char* remedy : {"malloc = \"@allomon//allocator:malloc\"", "CMake Allomon::malloc",
                             "pkg-config --libs allomon", "--whole-archive"}) {
    EXPECT_NE(status.message().find(remedy), std::string::npos) << remedy << ": " << status;
  }
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status;
}

TEST(NoHeapTest, RecordingSaysSoToo) {
  const auto recording = Recording::Start({/*path=*/"unused"});
  EXPECT_EQ(recording.status().code(), absl::StatusCode::kFailedPrecondition);
  ExpectRemedies(recording.status());
}

TEST(NoHeapTest, StartSaysWhatIsMissingInsteadOfSeeingNothing) {
  const absl::Status status = Tracker::start(1, Follow{}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  ExpectRemedies(status);
  EXPECT_FALSE(Tracker::is_sampling());
  heap_client::AnnounceHeap();
  EXPECT_TRUE(Tracker::start(1, Follow{}).ok());
  EXPECT_TRUE(Tracker::stop().ok());
}

}  // namespace
}  // namespace allomon
