// A tracker that counts, and a test fixture in which the tracker sees every block.
#ifndef ALLOMON_TESTS_STRESS_COUNTING_TRACKER_H_
#define ALLOMON_TESTS_STRESS_COUNTING_TRACKER_H_

#include <unistd.h>

#include <atomic>
#include <optional>

#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon::testing {

inline std::atomic<int> g_allocs{0};
inline std::atomic<int> g_deallocs{0};

struct Counting {
  std::optional<int> alloc_major(const Allocation&) { return ++g_allocs; }
  void dealloc_major(int) { ++g_deallocs; }
};

class CountingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    alarm(60);  // a test that hangs is a failure
    g_allocs = g_deallocs = 0;
    ASSERT_TRUE(Tracker::start(1, Counting{}).ok());
  }
  void TearDown() override {
    ASSERT_TRUE(Tracker::stop().ok());
    alarm(0);
  }
};

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_STRESS_COUNTING_TRACKER_H_
