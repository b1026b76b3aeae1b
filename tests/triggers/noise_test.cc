// Copies at a new peak follow growth, not noise.  Uses a program whose memory is sampled, and a
// rule that is evaluated after every sample, on a clock of its own on which copies take no time.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"
#include "tests/support/statistics.h"
#include "tracker/recording/start.h"
#include "tracker/triggers/rules.h"

namespace allomon::triggers {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class RuleAtEachSample final : public recording::Watcher {
 public:
  void Begin(const char* text) {
    Settings settings;
    std::string_view wrong;
    EXPECT_TRUE(ParseSettings(text, &settings, &wrong)) << text;
    rules_.Begin(settings);
    copies_ = 0;
    asks_ = true;
  }
  void End() { asks_ = false; }
  int copies() const { return copies_; }
  // The state at the last sample.
  const recording::Standing& standing() const { return standing_; }

  void Look(recording::Recorder& recorder) override {
    recorder.SetNextLook(0);
    if (!recorder.Stand(&standing_) || !asks_) return;
    Facts facts;
    facts.nanos = ++nanos_;
    facts.peak_bytes = standing_.peak_bytes;
    facts.peak_variance = standing_.peak_variance;
    const Reason due = rules_.Due(facts);
    if (due == Reason::kNone) return;
    rules_.NoteSaved(due, facts, 0);
    ++copies_;
  }

 private:
  Rules rules_;
  bool asks_ = false;
  uint64_t nanos_ = 0;
  int copies_ = 0;
  recording::Standing standing_;
};

constexpr std::array<size_t, 1> Of(size_t size_bytes) { return {size_bytes}; }

// A recorded program, and the copies that would have been made of its recording.
class Program {
 public:
  Program(double rate, uint64_t seed) {
    const std::string path = testing::ScratchPath("noise");
    recording::StartOptions options;
    options.path = path.c_str();
    options.rate = rate;
    options.seed = seed;
    options.watcher = &Rule();
    const recording::Started started = recording::StartRecorder(options);
    EXPECT_EQ(started.error, nullptr);
    unlink(path.c_str());
    session_ = started.session;
  }
  ~Program() {
    Rule().End();
    EXPECT_TRUE(recording::StopRecorder(session_));
    for (const Block& block : blocks_) SamplingFree(block.place);
  }

  // Allocates blocks of the sizes in turn.
  template <typename Sizes>
  void Allocate(size_t count, const Sizes& sizes) {
    for (size_t i = 0; i < count; ++i) {
      const size_t size = sizes[i % sizes.size()];
      blocks_.push_back({SamplingMalloc(size), size});
    }
  }
  // Frees random blocks, and allocates new ones of the same sizes.
  void Replace(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      random_ = random_ * 6364136223846793005 + 1442695040888963407;
      Block& block = blocks_[(random_ >> 33) % blocks_.size()];
      SamplingFree(block.place);
      block.place = SamplingMalloc(block.size);
    }
  }
  size_t blocks() const { return blocks_.size(); }
  // Counts from here on.
  static void Ask(const char* text) { Rule().Begin(text); }
  static int copies() { return Rule().copies(); }
  static const recording::Standing& standing() { return Rule().standing(); }

 private:
  struct Block {
    void* place;
    size_t size;
  };

  static RuleAtEachSample& Rule() {
    static RuleAtEachSample& rule = *new RuleAtEachSample;
    return rule;
  }

  internal::SessionId session_ = 0;
  uint64_t random_ = 1;
  std::vector<Block> blocks_;
};

// The program only grows, so both halves name one moment.  The sum of the squares of n errors,
// divided by their variance, has a chi-square distribution with n degrees of freedom, which is
// normal for large n.
TEST(NoiseTest, VarianceThatAWatcherIsToldIsThatOfThePeak) {
  constexpr std::array<size_t, 5> kSizes = {1, 40, 1000, 5000, 100'000};
  constexpr size_t kBlocks = 500;
  constexpr int kRuns = 500;
  constexpr double kTrueBytes = (1 + 40 + 1000 + 5000 + 100'000) * kBlocks / 5.0;
  double squares = 0;
  double variances = 0;
  for (int run = 0; run < kRuns; ++run) {
    Program program(1e-4, run + 1);
    program.Allocate(kBlocks, kSizes);
    const recording::Standing& standing = Program::standing();
    const double error = static_cast<double>(standing.peak_bytes) - kTrueBytes;
    squares += error * error;
    variances += standing.peak_variance;
  }
  EXPECT_NEAR(squares / variances, 1, testing::kSigmas * std::sqrt(2.0 / kRuns));
}

constexpr size_t kTurnovers = 60;
constexpr uint64_t kSeeds = 6;

template <typename Sizes>
void ExpectOneCopy(const char* rule, double rate, size_t blocks, const Sizes& sizes) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Program program(rate, seed);
    program.Allocate(blocks, sizes);
    Program::Ask(rule);
    program.Replace(kTurnovers * blocks);
    EXPECT_EQ(Program::copies(), 1)
        << blocks << " of " << sizes[0] << " bytes at rate " << rate << ", seed " << seed;
  }
}

TEST(NoiseTest, ConstantChurnIsCopiedOnce) {
  ExpectOneCopy("peak+10%", 1e-4, 10'000, Of(1024));
  ExpectOneCopy("peak+10%", 1e-4, 1'000, Of(4096));
  ExpectOneCopy("peak+10%", 1e-4, 20'000, Of(100));
  ExpectOneCopy("peak+10%", 1e-4, 3'000, std::array<size_t, 5>{1, 40, 200, 999, 8000});
  ExpectOneCopy("peak+3%", 1e-4, 200, Of(100'000));
  ExpectOneCopy("peak+1%", 1e-2, 6'000, Of(200));
}

// Each doubling is copied.
TEST(NoiseTest, GrowthIsCopied) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Program program(1e-4, seed);
    program.Allocate(20'000, Of(1024));
    Program::Ask("peak+10%");
    program.Replace(100'000);
    int copies = Program::copies();
    EXPECT_EQ(copies, 1) << seed;
    for (int doubling = 0; doubling < 3; ++doubling) {
      program.Allocate(program.blocks(), Of(1024));
      EXPECT_GT(Program::copies(), copies) << seed << ", " << doubling;
      copies = Program::copies();
    }
  }
}

// Next to few blocks of which a sample is known, there are large ones, each of which is sampled: a
// growth of 3 % is significant.
TEST(NoiseTest, GrowthOfBlocksThatAreKnownIsCopiedAtItsPercents) {
  Program program(1e-4, 1);
  program.Allocate(1'000, Of(1024));
  program.Allocate(100, Of(4 * kMiB));
  Program::Ask("peak+3%");
  program.Replace(10'000);
  EXPECT_EQ(Program::copies(), 1);
  program.Allocate(2, Of(4 * kMiB));
  EXPECT_EQ(Program::copies(), 1);
  program.Allocate(2, Of(4 * kMiB));
  EXPECT_EQ(Program::copies(), 2);
}

TEST(NoiseTest, GrowthIsExactWhereEachBlockIsSampled) {
  Program program(1, 1);
  program.Allocate(2'000, Of(1024));
  Program::Ask("peak+10%");
  program.Replace(10'000);
  EXPECT_EQ(Program::copies(), 1);
  program.Allocate(199, Of(1024));
  EXPECT_EQ(Program::copies(), 1);
  program.Allocate(1, Of(1024));
  EXPECT_EQ(Program::copies(), 2);
}

}  // namespace
}  // namespace allomon::triggers
