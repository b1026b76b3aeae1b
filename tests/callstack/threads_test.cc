// Several threads capture, forget and fill the shared cache at once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/callstack/capturing.h"
#include "tests/callstack/frames.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/rule_cache.h"

namespace allomon {
namespace {

constexpr int kThreads = 4;

TEST(Threads, CaptureAtOnceAndAgree) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&wrong, t] {
      testing::Both first;
      testing::CallThroughAll(testing::CaptureBoth, &first);
      for (int i = 0; i < 2000; ++i) {
        testing::Both both;
        testing::CallAtDepth(1 + (i + t) % 50, testing::CaptureBoth, &both);
        both.ours.frames[0] = both.libgcc[0];
        if (both.ours.frames != both.libgcc || both.ours.truncated) ++wrong;
        if (i % 100 == 0) ForgetUnloadedCode();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// checks inv.cache.exact: whatever other threads store, a hit is the rule of that pc.
TEST(Threads, CacheNeverMixesUp) {
  static internal::RuleCache cache;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::atomic<int> hits{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uintptr_t i = 0; i < 200000; ++i) {
        // One slot, 64 pcs; each pc's rule follows from the pc.
        const uintptr_t pc = 0x7f0000000000 + (i * 7 + t) % 64 * ((1 << 14) + 1);
        const internal::FrameRule rule(internal::FrameRule::kFromSp, (pc >> 14) % 4096 * 8, 16);
        for (int look = 0; look < 2; ++look) {
          internal::FrameRule found;
          if (!cache.Find(pc, &found)) {
            cache.Store(pc, rule, 1);
          } else {
            hits.fetch_add(1, std::memory_order_relaxed);
            if (found.cfa_bytes() != rule.cfa_bytes()) ++wrong;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
}

}  // namespace
}  // namespace allomon
