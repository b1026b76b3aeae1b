// A thread that ends itself in a callback leaves operator delete and the nothrow forms of
// operator new, which are noexcept, without ending the process.  malloc is replaced here.
#include <pthread.h>

#include <new>

#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

__thread bool t_exit_in_alloc;
__thread bool t_exit_in_dealloc;
void* volatile g_block;  // keeps the compiler from pairing new with delete

struct Exiting {
  std::optional<int> alloc_major(const Allocation&) {
    if (t_exit_in_alloc) pthread_exit(nullptr);
    return 1;
  }
  void dealloc_major(int) {
    if (t_exit_in_dealloc) pthread_exit(nullptr);
  }
};

void* Delete(void*) {
  g_block = operator new(10);
  t_exit_in_dealloc = true;
  operator delete(g_block);
  return const_cast<void**>(&g_block);
}

void* DeleteAligned(void*) {
  g_block = operator new (10, std::align_val_t{64});
  t_exit_in_dealloc = true;
  operator delete (g_block, std::align_val_t{64});
  return const_cast<void**>(&g_block);
}

void* NewNothrow(void*) {
  t_exit_in_alloc = true;
  g_block = operator new(10, std::nothrow);
  return const_cast<void**>(&g_block);
}

void* NewAlignedNothrow(void*) {
  t_exit_in_alloc = true;
  g_block = operator new[](10, std::align_val_t{64}, std::nothrow);
  return const_cast<void**>(&g_block);
}

TEST(ExitInNoexceptTest, OnlyTheThreadEnds) {
  ASSERT_TRUE(Tracker::start(1, Exiting{}).ok());
  for (void* (*body)(void*) : {Delete, DeleteAligned, NewNothrow, NewAlignedNothrow}) {
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
    void* result = &thread;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, nullptr) << "the callback did not run";
  }
  ASSERT_TRUE(Tracker::stop().ok());
}

// Tests the code that moved to another file together with the nothrow forms.
TEST(ExitInNoexceptTest, NothrowAsksTheNewHandler) {
  static int calls;
  calls = 0;
  const std::new_handler outer = std::set_new_handler([] {
    if (++calls == 3) throw std::bad_alloc();
  });
  volatile size_t size = size_t{1} << 62;
  EXPECT_EQ(operator new(size, std::nothrow), nullptr);
  EXPECT_EQ(calls, 3);
  calls = 0;
  EXPECT_EQ(operator new (size, std::align_val_t{64}, std::nothrow), nullptr);
  EXPECT_EQ(calls, 3);
  std::set_new_handler(outer);
}

}  // namespace
}  // namespace allomon
