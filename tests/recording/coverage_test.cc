// The 95 % intervals of rows contain the truth in 95 of 100 recordings: for allocated bytes, live
// bytes and bytes live at the peak, in rows of 10 to 1,000 samples.
//
// ALLOMON_COVERAGE_RUNS in the environment sets another number of recordings than 2,000.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"
#include "tests/support/statistics.h"
#include "tools/heap/interval.h"

namespace allomon {
namespace {

using recording::Process;
using recording::Sum;
using testing::Recorded;

constexpr double kRate = 0.02;
constexpr size_t kRows = 5;
// The numbers of blocks are chosen such that, with the probabilities of blocks of 16 to 48 bytes,
// 10, 30, 100, 300 and 1,000 are sampled.
constexpr size_t kSizes[kRows] = {16, 24, 32, 40, 48};
constexpr size_t kBlocks[kRows] = {172, 388, 1040, 2632, 7580};

struct Coverage {
  int held = 0;
  int asked = 0;

  void Ask(const Sum& sum, bool is_peak, size_t size_bytes, size_t true_blocks) {
    heap::Sample sample;
    sample.size_bytes = size_bytes;
    sample.has_size = true;
    const heap::Amount amount = {sum.blocks, sum.bytes};
    const heap::Estimate estimate = heap::EstimateOf(amount, sample, {kRate, is_peak});
    const heap::Interval interval = heap::BytesInterval(estimate);
    const double truth = static_cast<double>(true_blocks * size_bytes);
    held += interval.low <= truth && truth <= interval.high ? 1 : 0;
    ++asked;
  }
  // The true share may differ from 95 % by `tolerance`.
  void Expect(const char* what, double tolerance) const {
    const double share = static_cast<double>(held) / asked;
    const double sigma = std::sqrt(0.95 * 0.05 / asked);
    printf("%s: %.4f of %d\n", what, share, asked);
    EXPECT_NEAR(share, 0.95, tolerance + testing::kSigmas * sigma) << what;
  }
};

// Allocates all blocks at once, which is the peak; then frees half of them, and allocates a quarter
// more.
struct History {
  std::vector<void*> blocks[kRows];

  void Run() {
    for (size_t row = 0; row < kRows; ++row) Allocate(row, kBlocks[row]);
    for (size_t row = 0; row < kRows; ++row) FreeLast(row, kBlocks[row] / 2);
    for (size_t row = 0; row < kRows; ++row) Allocate(row, kBlocks[row] / 4);
  }
  void Allocate(size_t row, size_t count) {
    for (size_t i = 0; i < count; ++i) blocks[row].push_back(SamplingMalloc(kSizes[row]));
  }
  void FreeLast(size_t row, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      SamplingFree(blocks[row].back());
      blocks[row].pop_back();
    }
  }
  void End() {
    for (size_t row = 0; row < kRows; ++row) FreeLast(row, blocks[row].size());
  }
};

// Sums the rows of a size, from both places that allocate it.
Sum SumOf(const Process& process, size_t size_bytes, Sum (*of)(const Process::Row&)) {
  Sum sum = {};
  for (const Process::Row& row : process.rows) {
    if (row.size_class != recording::SizeClassOf(size_bytes) + 1) continue;
    sum.Add(of(row));
  }
  return sum;
}

Sum Allocated(const Process::Row& row) { return row.allocated; }
Sum Live(const Process::Row& row) { return row.live; }
Sum Peak(const Process::Row& row) { return row.peak; }

// A figure of a row, with its true number of blocks.
struct Figure {
  const char* name;
  Sum (*of)(const Process::Row&);
  size_t (*true_blocks)(size_t blocks);
  bool is_peak = false;
};

constexpr Figure kFigures[] = {
    {"allocated", Allocated, [](size_t blocks) { return blocks + blocks / 4; }},
    {"live", Live, [](size_t blocks) { return blocks - blocks / 2 + blocks / 4; }},
    {"peak", Peak, [](size_t blocks) { return blocks; }, true},
};

// Makes one recording of one history.
Process Record(uint64_t seed) {
  RecordingOptions options = testing::EveryBlock("coverage");
  options.rate = kRate;
  options.seed = seed;
  options.callstack_size = 1;
  History history;
  const Recorded recorded(options);
  history.Run();
  Process process = recorded.ReadProcess();
  history.End();
  return process;
}

TEST(CoverageTest, IntervalsOfRowsHoldTheTruthAsOftenAsTheySay) {
  const char* const asked = getenv("ALLOMON_COVERAGE_RUNS");
  const int runs = asked == nullptr ? 2000 : atoi(asked);
  Coverage coverage[std::size(kFigures)][kRows + 1];  // for each row, and for all rows
  for (int run = 1; run <= runs; ++run) {
    const Process process = Record(static_cast<uint64_t>(run));
    for (size_t figure = 0; figure < std::size(kFigures); ++figure) {
      for (size_t row = 0; row < kRows; ++row) {
        const Sum sum = SumOf(process, kSizes[row], kFigures[figure].of);
        const size_t truth = kFigures[figure].true_blocks(kBlocks[row]);
        coverage[figure][row].Ask(sum, kFigures[figure].is_peak, kSizes[row], truth);
        coverage[figure][kRows].Ask(sum, kFigures[figure].is_peak, kSizes[row], truth);
      }
    }
  }
  for (size_t figure = 0; figure < std::size(kFigures); ++figure) {
    const std::string name = kFigures[figure].name;
    // A peak's interval is made for several similar moments; here there is one, and 96.8 % is
    // expected.
    const double tolerance = kFigures[figure].is_peak ? 0.025 : 0.01;
    for (size_t row = 0; row < kRows; ++row) {
      coverage[figure][row].Expect((name + " of " + std::to_string(kSizes[row]) + " bytes").c_str(),
                                   tolerance);
    }
    coverage[figure][kRows].Expect(name.c_str(), tolerance);
  }
}

}  // namespace
}  // namespace allomon
