// Capturing must not allocate: this program's malloc counts its calls.  Not for sanitizers, whose
// malloc it would replace.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>

#include "tests/callstack/frames.h"
#include "tracker/callstack/capture.h"

// glibc's own malloc, under the name exported for wrappers.
extern "C" void* __libc_malloc(size_t size);
extern "C" void* __libc_calloc(size_t count, size_t size);
extern "C" void* __libc_realloc(void* block, size_t size);

namespace {
std::atomic<int> allocations{0};
}  // namespace

extern "C" void* malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
extern "C" void* calloc(size_t count, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
extern "C" void* realloc(void* block, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(block, size);
}

namespace allomon {
namespace {

struct Counted {
  size_t frames = 0;
  int allocations = 0;
};

__attribute__((noinline)) void CaptureCounting(void* argument) {
  uintptr_t frames[128];
  bool truncated;
  const int before = allocations.load();
  auto& counted = *static_cast<Counted*>(argument);
  counted.frames = CaptureCallstack(ALLOMON_CALLER_FRAME(), frames, 128, &truncated);
  counted.allocations = allocations.load() - before;
}

TEST(NoMalloc, TheCounterWorks) {
  const int before = allocations.load();
  void* volatile block = malloc(1);
  free(block);
  EXPECT_GT(allocations.load(), before);
}

TEST(NoMalloc, FirstCaptureOfMainThread) {
  Counted counted;
  testing::CallThroughAll(CaptureCounting, &counted);
  EXPECT_GT(counted.frames, 12u);
  EXPECT_EQ(counted.allocations, 0);
}

TEST(NoMalloc, FirstCaptureOfThread) {
  Counted counted;
  std::thread([&] { testing::CallThroughAll(CaptureCounting, &counted); }).join();
  EXPECT_GT(counted.frames, 12u);
  EXPECT_EQ(counted.allocations, 0);
}

}  // namespace
}  // namespace allomon
