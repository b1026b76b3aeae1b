// Damaged profiles are read, or refused with one line; what is read can be worked with, and is
// written to a file that is read again.  --minutes=N goes on for so long.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/pprof/profiles.h"
#include "tests/pprof/wire_mutator.h"
#include "tests/profile/mutator.h"
#include "tools/load/load.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::pprof {
namespace {

using heap::HeapProfile;
using heap::kNone;
using heap::Sample;

constexpr int kRounds = 5000;
double fuzz_minutes = 0;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void CheckSample(const Sample& sample, const HeapProfile& profile) {
  for (uint32_t location : sample.stack) ASSERT_LT(location, profile.locations.size());
  ASSERT_TRUE(sample.thread == kNone || sample.thread < profile.threads.size());
  for (const heap::Amount& amount : sample.amounts) {
    ASSERT_TRUE(std::isfinite(amount.blocks) && amount.blocks >= 0);
    ASSERT_TRUE(std::isfinite(amount.bytes) && amount.bytes >= 0);
  }
}

// All that refers to something does.
void CheckProfile(const HeapProfile& profile) {
  ASSERT_TRUE(profile.rate >= 0 && profile.rate <= 1);
  for (const Sample& sample : profile.samples) CheckSample(sample, profile);
  for (const heap::Location& location : profile.locations) {
    ASSERT_TRUE(location.mapping == kNone || location.mapping < profile.mappings.size());
    for (const heap::Line& line : location.lines) {
      ASSERT_LT(line.function, profile.functions.size());
    }
  }
}

void CheckWrittenAgain(const HeapProfile& profile) {
  const auto again = DecodePprof(EncodePprof(profile));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->samples.size(), profile.samples.size());
  ASSERT_EQ(again->rate, profile.rate);
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    ASSERT_LE(again->samples[i].stack.size(), profile.samples[i].stack.size());
  }
}

class FuzzTest : public ::testing::Test {
 protected:
  void Check(const absl::StatusOr<HeapProfile>& profile) {
    if (!profile.ok()) {
      const std::string line(profile.status().message());
      ASSERT_EQ(line.find('\n'), std::string::npos) << line;
      return;
    }
    ++accepted_;
    CheckProfile(*profile);
    CheckWrittenAgain(*profile);
  }

  // Calls `round` some thousand times, or for the minutes that were asked for.
  template <typename Round>
  void Run(Round round) {
    const double end = Seconds() + 60 * fuzz_minutes / 3;
    while (rounds_ < kRounds || Seconds() < end) {
      round();
      ++rounds_;
      if (HasFatalFailure()) FAIL() << "round " << rounds_;
    }
    EXPECT_GT(accepted_, rounds_ / 100);  // a fuzzer whose inputs are all refused tests nothing
  }

  const unsigned seed_ = fuzz_minutes > 0 ? std::random_device()() : allomon::testing::kFuzzSeed;
  allomon::testing::Mutator bytes_{
      seed_,
      {"\x08", "\x12\x05", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\x0f",
       std::string("\0\0", 2), "allomon-ages [", "1e999", "\"", "[[[[[[[["}};
  testing::WireMutator fields_{seed_};
  const std::string whole_ = EncodePprof(testing::SmallProfile());
  int64_t rounds_ = 0;
  int64_t accepted_ = 0;
};

TEST_F(FuzzTest, DamagedBytes) {
  Run([this] { Check(DecodePprof(bytes_.Mutate(whole_))); });
}

TEST_F(FuzzTest, DamagedFields) {
  Run([this] { Check(DecodePprof(fields_.Mutate(whole_))); });
}

TEST_F(FuzzTest, DamagedFiles) {
  const std::string file = Gzip(whole_);
  Run([&] {
    const bool is_inside = bytes_.Below(2) == 0;
    const std::string damaged = is_inside ? Gzip(bytes_.Mutate(whole_)) : bytes_.Mutate(file);
    Check(load::ParseHeapProfile("x", damaged, {}));
  });
}

}  // namespace
}  // namespace allomon::pprof

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr char kMinutes[] = "--minutes=";
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], kMinutes, strlen(kMinutes)) != 0) continue;
    allomon::pprof::fuzz_minutes = atof(argv[i] + strlen(kMinutes));
  }
  return RUN_ALL_TESTS();
}
