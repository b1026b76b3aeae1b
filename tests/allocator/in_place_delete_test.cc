// Each form of operator delete, and each allocating function of C, with followed blocks that stay
// in place.  malloc is replaced here.
#include <malloc.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "allocator/allocator.h"
#include "allocator/in_place.h"
#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

constexpr std::align_val_t kAlignment{64};

// Only blocks of these sizes count: others are gtest's.
constexpr uint64_t kBytes = 1234;

int g_born;
int g_died;
__thread bool t_exit_in_dealloc;
void* volatile g_block;  // keeps the compiler from pairing new with delete

struct Counting {
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes != kBytes) return std::nullopt;
    return ++g_born;
  }
  void dealloc_major(int) {
    ++g_died;
    if (t_exit_in_dealloc) pthread_exit(nullptr);
  }
};

class InPlaceDeleteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(KeepSamplesInPlace(1));
    g_born = g_died = 0;
    ASSERT_TRUE(Tracker::start(1, Counting{}).ok());
  }
  void TearDown() override {
    (void)Tracker::stop();
    KeepSamplesInPlace(0);
  }
};

// Returns the block that was allocated last, which must be in place.
void* Placed(void* block) {
  g_block = block;
  EXPECT_LT(reinterpret_cast<uintptr_t>(block), uintptr_t{1} << 46);
  memset(block, 1, kBytes);
  return g_block;
}

void ExpectEnded(int blocks, const char* form) {
  EXPECT_EQ(g_born, blocks) << form;
  EXPECT_EQ(g_died, blocks) << form;
}

TEST_F(InPlaceDeleteTest, Operators) {
  operator delete(Placed(operator new(kBytes)));
  ExpectEnded(1, "delete");
  operator delete(Placed(operator new(kBytes)), kBytes);
  ExpectEnded(2, "sized delete");
  operator delete(Placed(operator new(kBytes, std::nothrow)), std::nothrow);
  ExpectEnded(3, "nothrow delete");
  operator delete(Placed(operator new(kBytes, kAlignment)), kAlignment);
  ExpectEnded(4, "aligned delete");
  operator delete(Placed(operator new(kBytes, kAlignment)), kBytes, kAlignment);
  ExpectEnded(5, "sized aligned delete");
  operator delete[](Placed(operator new[](kBytes)));
  ExpectEnded(6, "delete[]");
  operator delete[](Placed(operator new[](kBytes)), kBytes);
  ExpectEnded(7, "sized delete[]");
  operator delete[](Placed(operator new[](kBytes, kAlignment)), kBytes, kAlignment);
  ExpectEnded(8, "sized aligned delete[]");
}

TEST_F(InPlaceDeleteTest, FunctionsOfC) {
  free(Placed(malloc(kBytes)));
  ExpectEnded(1, "malloc");
  free(Placed(calloc(1, kBytes)));
  ExpectEnded(2, "calloc");
  void* block = nullptr;
  ASSERT_EQ(posix_memalign(&block, 256, kBytes), 0);
  free(Placed(block));
  ExpectEnded(3, "posix_memalign");
  free(Placed(aligned_alloc(32, kBytes)));
  ExpectEnded(4, "aligned_alloc");
  block = Placed(malloc(kBytes));
  EXPECT_GE(malloc_usable_size(block), kBytes);
  free(Placed(reallocarray(block, 1, kBytes)));
  ExpectEnded(6, "reallocarray");
}

void* DeleteAndExit(void* /*unused*/) {
  t_exit_in_dealloc = true;
  operator delete(g_block);
  return const_cast<void**>(&g_block);
}
void* FreeAndExit(void* /*unused*/) {
  t_exit_in_dealloc = true;
  free(g_block);
  return const_cast<void**>(&g_block);
}

// The stack unwinds through operator delete, which is noexcept, and through free.
TEST_F(InPlaceDeleteTest, CallbackThatEndsItsThread) {
  for (void* (*body)(void*) : {DeleteAndExit, FreeAndExit}) {
    void* const block = Placed(malloc(kBytes));
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
    void* result = &thread;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, nullptr) << "the callback did not run";
    const uint64_t before = AllocatorDoubleFrees();
    free(block);
    EXPECT_EQ(AllocatorDoubleFrees(), before + 1) << "the block was not freed";
  }
}

}  // namespace
}  // namespace allomon
