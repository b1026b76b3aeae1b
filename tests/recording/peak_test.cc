// The peak and the rows' parts of it, with a thread interrupted at any instruction.
#include "tracker/recording/peak.h"

#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "gtest/gtest.h"

namespace allomon::recording {
namespace {

constexpr uint8_t kBoth = kOfHalf[0] | kOfHalf[1];
constexpr HalfUnits kUnits = {1, 0};
constexpr int64_t kFreed = 50;

ProcessRecord g_record;
PeakState g_peak;
std::atomic<bool> g_interrupted{false};

// A row, as rows.h has it.
struct Row {
  std::atomic<int64_t> live{0};
  std::atomic<bool> keeping{false};
  int64_t kept[kHalves] = {};
  uint32_t epoch[kHalves] = {};

  void Keep() {
    keeping.store(true);
    for (uint32_t half = 0; half < kHalves; ++half) {
      const uint32_t now = g_peak.Epoch(half);
      if (now != epoch[half]) kept[half] = live.load();
      epoch[half] = now;
    }
    keeping.store(false);
  }
  int64_t AtPeak() const {
    int64_t sum = 0;
    for (uint32_t half = 0; half < kHalves; ++half) {
      sum += epoch[half] == g_peak.Epoch(half) ? kept[half] : live.load();
    }
    return sum / kHalves;
  }
};
Row g_row;

// Does the work of other threads while the interrupted one is stopped.  They wait while it keeps
// its row.
void FreeSome(int) {
  if (g_interrupted.load() || g_row.keeping.load() || g_row.live.load() < 2 * kFreed) return;
  g_row.Keep();
  g_row.live.fetch_sub(kFreed);
  for (int64_t i = 0; i < kFreed; ++i) g_peak.AddDeath(kBoth, kUnits);
  g_interrupted.store(true);
}

void Interrupt(suseconds_t each_micros) {
  const itimerval timer = {{0, each_micros}, {0, each_micros}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &timer, nullptr), 0);
}

// A program grows; at some instruction of a birth other threads free blocks.  Rows and peak agree
// to within a block.
TEST(PeakTest, RowsHaveWhatThePeakHasWhereverAThreadIsStopped) {
  const Written<ProcessRecord> file(reinterpret_cast<char*>(&g_record));
  struct sigaction action = {};
  action.sa_handler = FreeSome;
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  Interrupt(500);
  for (int round = 0; round < 1000; ++round) {
    g_peak.Begin(1);
    g_row.live.store(0);
    for (uint32_t half = 0; half < kHalves; ++half) g_row.kept[half] = g_row.epoch[half] = 0;
    g_interrupted.store(false);
    while (!g_interrupted.load()) {
      g_row.Keep();
      g_row.live.fetch_add(1);
      g_peak.AddBirth(kBoth, kUnits, 1, file);
    }
    ASSERT_LE(std::abs(g_row.AtPeak() - g_peak.Peak()), 1) << round;
  }
  Interrupt(0);
}

}  // namespace
}  // namespace allomon::recording
