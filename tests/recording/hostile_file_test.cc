// A child that fills the shared memory file with noise: its parent goes on, and what the parent
// says of itself is right.  What the file says then is nobody's.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstring>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"

namespace allomon {
namespace {

constexpr uint64_t kLimit = uint64_t{4} << 20;
constexpr int kFills = 1000;

uint64_t Mixed(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  return z ^ z >> 27;
}

// Every byte of the file, kFills times, with noise of several kinds: any bits, small numbers, all
// ones, zeros.
void Fill(int fd) {
  auto* const words = static_cast<uint64_t*>(
      mmap(nullptr, kLimit, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (words == MAP_FAILED) _exit(1);
  uint64_t state = 1;
  for (int fill = 0; fill < kFills; ++fill) {
    for (size_t i = 0; i < kLimit / sizeof(uint64_t); ++i) {
      const uint64_t noise = Mixed(&state);
      words[i] = fill % 4 == 0 ? noise : fill % 4 == 1 ? noise % 4096 : fill % 4 == 2 ? ~0ull : 0;
    }
  }
  _exit(0);
}

int MakeMemoryFile() {
  const int fd = memfd_create("recording", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  recording::FileHeader header = {};
  memcpy(header.magic, recording::kMagic, sizeof(header.magic));
  header.version = recording::kLayoutVersion;
  header.segment_bytes = recording::kSegmentBytes;
  header.limit_bytes = kLimit;
  header.segments_used = 1;
  EXPECT_EQ(ftruncate(fd, kLimit), 0);
  EXPECT_EQ(pwrite(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
  EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  return fd;
}

// Stacks and sizes that are new, blocks that die, and others that live on.
__attribute__((noinline)) void* AllocateAt(int depth, size_t size_bytes) {
  void* const block = depth == 0 ? SamplingMalloc(size_bytes) : AllocateAt(depth - 1, size_bytes);
  asm volatile("" ::: "memory");
  return block;
}

TEST(HostileFileTest, ParentOfAChildThatFillsTheFileWithNoiseGoesOn) {
  const int fd = MakeMemoryFile();
  RecordingOptions options = testing::EveryBlock("hostile");
  options.path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
  const absl::StatusOr<RecordingId> id = Recording::Start(options);
  ASSERT_TRUE(id.ok()) << id.status();
  const pid_t child = fork();
  if (child == 0) Fill(fd);
  std::vector<void*> blocks(500);
  uint64_t allocated = 0;
  uint64_t state = 2;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    for (int i = 0; i < 1000; ++i, ++allocated) {
      const uint64_t random = Mixed(&state);
      void*& block = blocks[random % blocks.size()];
      SamplingFree(block);
      block = AllocateAt(static_cast<int>(random >> 20 & 31), random >> 32 & 0xfff);
    }
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const absl::StatusOr<Recording::Statistics> statistics = Recording::ReadStatistics(*id);
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(statistics->samples + statistics->dropped_samples, allocated);
  EXPECT_FALSE(statistics->lost);
  for (void* block : blocks) SamplingFree(block);
  EXPECT_TRUE(Recording::Stop(*id).ok());
  close(fd);
}

}  // namespace
}  // namespace allomon
