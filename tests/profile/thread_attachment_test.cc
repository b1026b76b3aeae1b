// The shadow stacks that ended threads leave to others.
#include "tracker/profile/record/thread_attachment.h"

#include <thread>

#include "gtest/gtest.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {
namespace {

constexpr size_t kPageEntries = 4096 / sizeof(ShadowEntry);

template <typename Use>
void RunAttached(Use use) {
  std::thread([&use] {
    AttachThread();
    use(thread_profile.bottom);
  }).join();
}

// Beyond the first page stays what is not given back.
TEST(ThreadAttachmentTest, OnlyADeepThreadGivesPagesBack) {
  ShadowEntry* first = nullptr;
  RunAttached([&](ShadowEntry* stack) {
    ASSERT_NE(first = stack, nullptr);
    stack[kPageEntries - 1].frame = stack[kPageEntries].frame = 1;
  });
  RunAttached([&](ShadowEntry* stack) {
    ASSERT_EQ(stack, first);
    EXPECT_EQ(stack[kPageEntries].frame, 0u);
    stack[kPageEntries].frame = 2;
  });
  RunAttached([&](ShadowEntry* stack) {
    ASSERT_EQ(stack, first);
    EXPECT_EQ(stack[kPageEntries].frame, 2u) << "a short thread has made a system call";
  });
}

}  // namespace
}  // namespace allomon::internal
