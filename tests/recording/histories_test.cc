// The figures of a recording are true on average, and its 95 % intervals contain the truth in 92.5
// to 97.5 of 100 recordings: for histories of many shapes, rates and sizes, for allocated, live,
// peak and temporary bytes, and for words.
//
// Each cell of the table is a shape, a rate and a size.  In CI each has a few recordings, and the
// test judges sums over cells.  ALLOMON_HISTORY_RUNS in the environment sets a larger number, and
// prints each cell.  ALLOMON_HISTORY_SHAPE names the only shape to run.  README.md of
// tracker/recording has the figures of 1,000.
//
// The truth of a peak is the maximum of the live bytes.  If the live bytes go up and down by less
// than samples can resolve, the recording's peak is that of a moment which looks largest.  So the
// live bytes of the churning histories are constant, and the teeth of the saw are equal.
//
// The distribution of a figure's mean error is normal, by the number of recordings, and that of the
// covered ones binomial; both bounds are kSigmas.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"
#include "tests/support/statistics.h"
#include "tools/heap/interval.h"
#include "tools/load/recording/recording_profile.h"

namespace allomon {
namespace {

using heap::Estimate;
using heap::HeapProfile;
using heap::Interval;
using heap::Metric;

constexpr size_t kMixed = 0;  // stands for a mixture of sizes
constexpr size_t kSizes[] = {1, 3, 24, 100, 1024, 100'000, kMixed};
constexpr double kRates[] = {1e-4, 1e-2, .3, 1};

// Returns as many blocks as give a hundred samples, or ALLOMON_HISTORY_SAMPLES of the environment.
size_t BlocksFor(double rate, size_t size_bytes) {
  static const char* const asked = getenv("ALLOMON_HISTORY_SAMPLES");
  static const double samples = asked == nullptr ? 100 : atof(asked);
  const double words = size_bytes == kMixed ? 20 : static_cast<double>(size_bytes) / 8 + 1;
  const double p = 1 - std::pow(1 - rate, words);
  return static_cast<size_t>(std::clamp(samples / p, samples, 1'000'000.0));
}

// The true figures of a history.
struct Truth {
  double allocated_bytes = 0;
  double allocated_blocks = 0;
  double live_bytes = 0;
  double peak_bytes = 0;
  double temporary_bytes = 0;

  void Add(const Truth& other) {
    allocated_bytes += other.allocated_bytes;
    allocated_blocks += other.allocated_blocks;
    live_bytes += other.live_bytes;
    peak_bytes += other.peak_bytes;
    temporary_bytes += other.temporary_bytes;
  }
};

// A program that allocates and frees, and its true figures.
class Program : public Truth {
 public:
  explicit Program(size_t size_bytes) : size_bytes_(size_bytes) {}
  ~Program() { FreeAll(); }

  void Allocate(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const size_t size = NextSize();
      blocks_.push_back(Make(size));
    }
  }
  // Frees the oldest blocks and allocates new ones of the same sizes in their place.
  void Replace(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Block& block = blocks_[i % blocks_.size()];
      Free(block);
      block = Make(block.size);
    }
  }
  void FreeLast(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Free(blocks_.back());
      blocks_.pop_back();
    }
  }
  // Later allocations repeat the sizes of the first ones.
  void FreeAll() {
    FreeLast(blocks_.size());
    random_ = 1;
  }
  // Replaces a freed block, so that the peak does not move.
  void UseBriefly(size_t count) {
    FreeLast(1);
    for (size_t i = 0; i < count; ++i) {
      Free(Make(size_bytes_ != kMixed ? size_bytes_ : 1));
    }
  }

 private:
  struct Block {
    void* place;
    size_t size;
    uint64_t birth_bytes;  // bytes allocated up to and including it, with a word for each block's
                           // header
  };
  size_t NextSize() {
    if (size_bytes_ != kMixed) return size_bytes_;
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    constexpr size_t kMixedSizes[] = {1, 17, 40, 136, 200, 999, 3000};
    return kMixedSizes[(random_ >> 40) % std::size(kMixedSizes)];
  }
  Block Make(size_t size) {
    allocated_bytes += static_cast<double>(size);
    ++allocated_blocks;
    live_bytes += static_cast<double>(size);
    peak_bytes = std::max(peak_bytes, live_bytes);
    clock_bytes_ += (size + 7) / 8 * 8 + 8;
    return {SamplingMalloc(size), size, clock_bytes_};
  }
  void Free(const Block& block) {
    SamplingFree(block.place);
    live_bytes -= static_cast<double>(block.size);
    if (clock_bytes_ - block.birth_bytes < kTemporaryBytes) {
      temporary_bytes += static_cast<double>(block.size);
    }
  }

  static constexpr uint64_t kTemporaryBytes = uint64_t{1} << recording::kTemporaryLog2Bytes;
  uint64_t clock_bytes_ = 0;
  const size_t size_bytes_;
  uint64_t random_ = 1;
  std::vector<Block> blocks_;
};

struct Shape {
  const char* name;
  void (*run)(Program* program, size_t blocks);
  int processes = 0;  // the number of processes that run it, one after another; 0: this one
};

void Churn(Program* program, size_t blocks) {
  program->Allocate(blocks);
  program->Replace(3 * blocks);
}
void Growth(Program* program, size_t blocks) { program->Allocate(blocks); }
void Saw(Program* program, size_t blocks) {
  for (int tooth = 0; tooth < 4; ++tooth) {
    program->FreeAll();
    program->Allocate(blocks);
    program->FreeLast(blocks / 2);
    program->FreeLast(blocks / 4);
  }
}
// A tenth of the peak is steady.
void Spike(Program* program, size_t blocks) {
  program->Allocate(blocks / 10);
  program->Replace(blocks / 2);
  program->Allocate(blocks);
  program->FreeLast(blocks);
  program->Replace(blocks / 2);
}
void TwoPhases(Program* program, size_t blocks) {
  program->Allocate(blocks);
  program->FreeAll();
  program->Allocate(blocks / 2);
  program->Replace(blocks / 2);
}
constexpr Shape kShapes[] = {
    {"churn", Churn}, {"growth", Growth},        {"saw", Saw},
    {"spike", Spike}, {"two phases", TwoPhases}, {"many processes", Saw, 3},
};

Estimate TotalOf(const HeapProfile& profile, Metric metric) {
  const heap::Sampling sampling = heap::SamplingOf(profile, metric);
  Estimate total;
  for (const heap::Sample& sample : profile.samples) {
    total.Add(heap::EstimateOf(sample[metric], sample, sampling));
  }
  return total;
}

// The results of one figure in many recordings.
struct Tally {
  double errors = 0;
  double squares = 0;
  int held = 0;
  int asked = 0;

  void Ask(double truth, double value, const Interval& interval) {
    const double error = value - truth;
    errors += error;
    squares += error * error;
    // A figure that is exact except for the rounding of doubles.
    const double slack = 1e-9 * truth;
    held += interval.low - slack <= truth && truth <= interval.high + slack ? 1 : 0;
    ++asked;
  }
  double Mean() const { return errors / asked; }
  double StandardError() const {
    const double variance = std::max(0.0, squares / asked - Mean() * Mean());
    return std::sqrt(variance / asked);
  }
  bool IsExact() const { return squares < 1e-6; }
};

enum Figure { kAllocatedBytes, kAllocatedBlocks, kLiveBytes, kPeakBytes, kTemporaryBytes, kWords };
constexpr const char* kFigures[] = {"allocated", "blocks", "live", "peak", "temporary", "words"};

struct Cell {
  Tally tallies[std::size(kFigures)];
};

void Run(const Shape& shape, size_t blocks, Program* program) {
  shape.run(program, blocks);
  program->UseBriefly(blocks / 2);
}

// A child reports its true figures in shared memory, and ends with its blocks live.  The true peak
// is the sum of the peaks.
void RunInChild(const Shape& shape, size_t blocks, size_t size_bytes, Truth* sum) {
  void* const shared =
      mmap(nullptr, sizeof(Truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    Program program(size_bytes);
    Run(shape, blocks, &program);
    memcpy(shared, static_cast<Truth*>(&program), sizeof(Truth));
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Truth truth;
  memcpy(&truth, shared, sizeof(truth));
  sum->Add(truth);
  munmap(shared, sizeof(Truth));
}

HeapProfile Record(const Shape& shape, double rate, size_t size_bytes, uint64_t seed,
                   Program* program) {
  RecordingOptions options = testing::EveryBlock("history");
  options.rate = rate;
  options.seed = seed;
  options.callstack_size = 1;
  const testing::MemoryFile file(uint64_t{16} << 20);
  if (shape.processes != 0) options.path = file.path();
  const testing::Recorded recorded(options);
  const size_t blocks = BlocksFor(rate, size_bytes);
  if (shape.processes == 0) Run(shape, blocks, program);
  for (int i = 0; i < shape.processes; ++i) RunInChild(shape, blocks, size_bytes, program);
  recording::RecordingOptions reading;
  reading.names = false;
  const auto profiles = recording::ReadRecordingProfiles(recorded.path(), reading);
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  return profiles.ok() ? profiles->front() : HeapProfile{};
}

void Ask(const HeapProfile& profile, const Truth& truth, Cell* cell) {
  const auto bytes = [&](Figure figure, Metric metric, double is) {
    const Estimate total = TotalOf(profile, metric);
    cell->tallies[figure].Ask(is, total.amount.bytes, heap::BytesInterval(total));
  };
  bytes(kAllocatedBytes, Metric::kAllocated, truth.allocated_bytes);
  bytes(kLiveBytes, Metric::kLive, truth.live_bytes);
  bytes(kPeakBytes, Metric::kPeak, truth.peak_bytes);
  bytes(kTemporaryBytes, Metric::kTemporary, truth.temporary_bytes);
  const Estimate all = TotalOf(profile, Metric::kAllocated);
  cell->tallies[kAllocatedBlocks].Ask(truth.allocated_blocks, all.amount.blocks,
                                      heap::BlocksInterval(all));
  for (const heap::Thread& thread : profile.threads) {
    const double width = 1.96 * std::sqrt(thread.estimated_words_variance);
    cell->tallies[kWords].Ask(thread.exact_words, thread.estimated_words,
                              {thread.estimated_words - width, thread.estimated_words + width});
  }
}

TEST(HistoriesTest, FiguresAreTrueOnTheAverageAndIntervalsHoldTheTruth) {
  const char* const asked = getenv("ALLOMON_HISTORY_RUNS");
  const int runs = asked == nullptr ? 6 : atoi(asked);
  const char* const chosen = getenv("ALLOMON_HISTORY_SHAPE");
  uint64_t seed = 1;
  for (const Shape& shape : kShapes) {
    if (chosen != nullptr && strcmp(chosen, shape.name) != 0) continue;
    int held[std::size(kFigures)] = {};
    int all[std::size(kFigures)] = {};
    for (const double rate : kRates) {
      for (const size_t size_bytes : kSizes) {
        Cell cell;
        for (int run = 0; run < runs; ++run) {
          Program program(size_bytes);
          Ask(Record(shape, rate, size_bytes, seed++, &program), program, &cell);
        }
        for (size_t figure = 0; figure < std::size(kFigures); ++figure) {
          const Tally& tally = cell.tallies[figure];
          const std::string name = std::string(shape.name) + ", rate " + std::to_string(rate) +
                                   ", " + std::to_string(size_bytes) + " bytes, " +
                                   kFigures[figure];
          if (asked != nullptr) {
            printf("%-52s bias %+6.2f standard errors, held %5.1f %%\n", name.c_str(),
                   tally.IsExact() ? 0 : tally.Mean() / tally.StandardError(),
                   100.0 * tally.held / tally.asked);
          }
          if (rate == 1) {
            EXPECT_TRUE(tally.IsExact()) << name << ": " << tally.Mean();
            EXPECT_EQ(tally.held, tally.asked) << name;
            continue;
          }
          if (runs >= 30) {
            EXPECT_LE(std::abs(tally.Mean()), testing::kSigmas * tally.StandardError()) << name;
          }
          if (tally.IsExact()) continue;  // the size is so large that all are sampled
          held[figure] += tally.held;
          all[figure] += tally.asked;
        }
      }
    }
    for (size_t figure = 0; figure < std::size(kFigures); ++figure) {
      const double share = static_cast<double>(held[figure]) / all[figure];
      printf("%s, %s: %.4f of %d\n", shape.name, kFigures[figure], share, all[figure]);
      const double tolerance = testing::BinomialTolerance(all[figure], .05) / all[figure];
      EXPECT_NEAR(share, .95, .025 + tolerance) << shape.name << ", " << kFigures[figure];
    }
  }
}

}  // namespace
}  // namespace allomon
