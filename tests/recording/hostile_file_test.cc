// A child fills every byte of its parent's file with noise, a thousand times.  The parent
// continues, and its own account of itself is right to the last byte.  The file may then contain
// anything.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <thread>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"
#include "tracker/recording/start.h"

namespace allomon {
namespace {

constexpr uint64_t kLimit = uint64_t{2} << 20;
constexpr int kFills = 1000;
constexpr int kThreads = 3;
constexpr size_t kPlaces = 500;
constexpr size_t kMostBytes = 4095;
constexpr int kDepth = 16;  // depth of the stacks, all of whose frames are AllocateAt's
constexpr size_t kKnownBlocks = 1000;
constexpr size_t kKnownBytes = 56;

// Splitmix64 (Steele, Lea and Flood 2014).
uint64_t Mixed(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// Returns random bits, small numbers, all ones or zeros.
uint64_t NoiseOf(int fill, uint64_t* state) {
  switch (fill % 4) {
    case 0:
      return Mixed(state);
    case 1:
      return Mixed(state) % 4096;
    case 2:
      return UINT64_MAX;
    default:
      return 0;
  }
}

// Overwrites every byte that the file has at this moment.  After every other fill, the count from
// which processes of a memory file take segments is one that the limit allows: otherwise the parent
// would take no more segments, and meet little of the noise.
void FillOnce(int fd, int fill, uint64_t* words, uint64_t* state) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) _exit(2);
  const auto count = static_cast<size_t>(status.st_size) / sizeof(uint64_t);
  for (size_t i = 0; i < count; ++i) words[i] = NoiseOf(fill, state);
  if (fill % 2 == 0) {
    words[offsetof(recording::FileHeader, segments_used) / sizeof(uint64_t)] =
        1 + Mixed(state) % (kLimit / recording::kSegmentBytes);
  }
}

[[noreturn]] void Fill(int fd) {
  auto* const words =
      static_cast<uint64_t*>(mmap(nullptr, kLimit, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (words == MAP_FAILED) _exit(1);
  uint64_t state = 1;
  for (int fill = 0; fill < kFills; ++fill) {
    usleep(static_cast<useconds_t>(Mixed(&state) % 1000));
    FillOnce(fd, fill, words, &state);
  }
  _exit(0);
}

// The recorder's own account of its process, which does not read the file.
class Witness final : public recording::Watcher {
 public:
  void Look(recording::Recorder& recorder) override { recorder_ = &recorder; }
  recording::Standing Ask() const {
    recording::Standing standing;
    EXPECT_TRUE(recorder_.load()->Stand(&standing));
    return standing;
  }

 private:
  std::atomic<recording::Recorder*> recorder_{nullptr};
};

// Makes a stack for each path: each bit selects one of two calls in a frame.
__attribute__((noinline)) void* AllocateAt(uint32_t path, int depth, size_t size_bytes) {
  void* block = nullptr;
  if (depth == 0) {
    block = SamplingMalloc(size_bytes);
  } else if ((path & 1) != 0) {
    block = AllocateAt(path >> 1, depth - 1, size_bytes);
    asm volatile("" ::: "memory");
  } else {
    block = AllocateAt(path >> 1, depth - 1, size_bytes);
    asm volatile("nop" ::: "memory");
  }
  return block;
}

class Program {
 public:
  void Begin() {
    for (int i = 0; i < kThreads; ++i) threads_[i] = std::thread([this, i] { Run(i); });
  }
  void End() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    for (std::atomic<void*>& place : places_) SamplingFree(place.exchange(nullptr));
  }
  // Allocates the same blocks, with known stacks and sizes, which live until they are freed.
  void AllocateKnown() {
    for (void*& block : known_) block = AllocateAt(0xaaaa, kDepth, kKnownBytes);
    blocks_ += kKnownBlocks;
    bytes_ += kKnownBlocks * kKnownBytes;
  }
  void FreeKnown() {
    for (void*& block : known_) SamplingFree(block);
  }
  uint64_t blocks() const { return blocks_; }
  uint64_t bytes() const { return bytes_; }

 private:
  // One block of 512 has a stack that is mostly new, so that rows and segments are added until the
  // end.  Any thread may free the blocks.
  void Run(int thread) {
    uint64_t state = 1000 + static_cast<uint64_t>(thread);
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    for (; !ends_.load(std::memory_order_relaxed); ++blocks) {
      if (blocks % 128 == 0) usleep(200);  // the child needs a processor, too
      const uint64_t random = Mixed(&state);
      const size_t size = random >> 32 & kMostBytes;
      const auto path = static_cast<uint32_t>(random % 512 == 0 ? random >> 10 & 0xffff : 0);
      void* const block = AllocateAt(path, kDepth, size);
      bytes += size;
      SamplingFree(places_[(random >> 50) % kPlaces].exchange(block));
    }
    blocks_ += blocks;
    bytes_ += bytes;
  }

  std::array<std::thread, kThreads> threads_;
  std::array<std::atomic<void*>, kPlaces> places_ = {};
  std::array<void*, kKnownBlocks> known_ = {};
  std::atomic<bool> ends_{false};
  std::atomic<uint64_t> blocks_{0};
  std::atomic<uint64_t> bytes_{0};
};

recording::RecorderTotals TotalsOf(internal::SessionId session) {
  recording::RecorderTotals totals;
  EXPECT_TRUE(recording::TotalsOf(session, &totals));
  EXPECT_FALSE(totals.is_lost);
  return totals;
}

// Dropped samples do not count in the other sums.
void ExpectTrue(const Program& program, const Witness& witness, internal::SessionId session,
                uint64_t live_bytes) {
  const recording::RecorderTotals totals = TotalsOf(session);
  const recording::Standing standing = witness.Ask();
  EXPECT_EQ(totals.samples + totals.dropped_samples, program.blocks());
  EXPECT_EQ(standing.allocated_bytes + totals.dropped_bytes, program.bytes());
  EXPECT_EQ(standing.live_bytes, live_bytes);
  EXPECT_GE(standing.peak_bytes, kKnownBlocks * kKnownBytes);
  EXPECT_LE(standing.peak_bytes, (kPlaces + kThreads) * kMostBytes + kKnownBlocks * kKnownBytes);
}

// `fd` is the file recorded into at `path`; -1: the start creates it.  `watcher` lives as long as
// the process, as all watchers do.
void RecordBesideNoise(const std::string& path, int fd, Witness* watcher) {
  Witness& witness = *watcher;
  recording::StartOptions options;
  options.path = path.c_str();
  options.rate = 1;
  options.limit_bytes = kLimit;
  options.callstack_size = kDepth;
  options.watcher = &witness;
  const recording::Started started = recording::StartRecorder(options);
  ASSERT_EQ(started.error, nullptr);
  Program program;
  program.AllocateKnown();
  ExpectTrue(program, witness, started.session, kKnownBlocks * kKnownBytes);
  program.FreeKnown();
  const pid_t child = fork();
  if (child == 0) Fill(fd >= 0 ? fd : open(path.c_str(), O_RDWR));
  program.Begin();
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  program.End();
  ExpectTrue(program, witness, started.session, 0);
  // Their rows and numbers are known, so they need no data from the file.
  const recording::RecorderTotals before = TotalsOf(started.session);
  printf("%llu blocks were recorded and %llu dropped\n",
         static_cast<unsigned long long>(before.samples),
         static_cast<unsigned long long>(before.dropped_samples));
  EXPECT_GT(before.samples, before.dropped_samples) << "little was tested";
  program.AllocateKnown();
  ExpectTrue(program, witness, started.session, kKnownBlocks * kKnownBytes);
  EXPECT_EQ(TotalsOf(started.session).samples, before.samples + kKnownBlocks);
  program.FreeKnown();
  ExpectTrue(program, witness, started.session, 0);
  EXPECT_TRUE(recording::StopRecorder(started.session));
}

TEST(HostileFileTest, ParentOfAChildThatFillsTheMemoryFileWithNoiseGoesOn) {
  const testing::MemoryFile file(kLimit);
  static Witness witness;
  RecordBesideNoise(file.path(), file.fd(), &witness);
}

TEST(HostileFileTest, ParentOfAChildThatFillsTheNamedFileWithNoiseGoesOn) {
  const std::string path = testing::ScratchPath("hostile");
  static Witness witness;
  RecordBesideNoise(path, -1, &witness);
  unlink(path.c_str());
}

}  // namespace
}  // namespace allomon
