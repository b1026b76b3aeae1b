// A process that is killed at a random moment leaves a complete recording: only the operation that
// each of its threads was executing may be missing in part.
//
// ALLOMON_KILLS=200 in the environment sets the number of kills of each kind; the default is 10.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"

namespace allomon {
namespace {

using recording::Process;

constexpr uint64_t kThreads = 4;
constexpr size_t kMostBytes = 2047;
constexpr size_t kPlaces = 100;

int Kills() {
  const char* const asked = getenv("ALLOMON_KILLS");
  return asked == nullptr ? 10 : atoi(asked);
}

uint64_t Mixed(uint64_t* state) {
  *state = *state * 6364136223846793005 + 1442695040888963407;
  return *state >> 20;
}

// The work done by a child's threads, in memory that outlives the child.
struct Counts {
  std::atomic<uint64_t> born;
  std::atomic<uint64_t> born_bytes;
  std::atomic<uint64_t> died;
  std::atomic<uint64_t> died_bytes;
};

class SharedCounts {
 public:
  SharedCounts()
      : counts_(static_cast<Counts*>(mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedCounts() { munmap(counts_, sizeof(Counts)); }
  SharedCounts(const SharedCounts&) = delete;
  SharedCounts& operator=(const SharedCounts&) = delete;
  Counts* operator->() const { return counts_; }

 private:
  Counts* const counts_;
};

// Blocks of many sizes from many stacks, so that rows and segments are added to the end.
__attribute__((noinline)) void* AllocateAt(uint64_t depth, size_t size_bytes) {
  void* const block = depth == 0 ? SamplingMalloc(size_bytes) : AllocateAt(depth - 1, size_bytes);
  asm volatile("" ::: "memory");
  return block;
}

void Churn(uint64_t thread, const SharedCounts& counts) {
  struct Block {
    void* place;
    size_t size;
  };
  std::array<Block, kPlaces> blocks = {};
  for (uint64_t state = thread;;) {
    const uint64_t random = Mixed(&state);
    Block& block = blocks[random % kPlaces];
    if (block.place != nullptr) {
      SamplingFree(block.place);
      counts->died_bytes += block.size;
      ++counts->died;
    }
    block.size = random >> 8 & kMostBytes;
    block.place = AllocateAt(random >> 20 & 63, block.size);
    counts->born_bytes += block.size;
    ++counts->born;
  }
}

[[noreturn]] void RunChild(const SharedCounts& counts) {
  std::array<std::thread, kThreads> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads[i] = std::thread([i, &counts] { Churn(i, counts); });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(1);
}

// Forks, and kills the child after some allocations; *child is its process id.
void KillOne(const SharedCounts& counts, uint64_t* state, pid_t* child) {
  *child = fork();
  if (*child == 0) RunChild(counts);
  ASSERT_GT(*child, 0);
  while (counts->born < kThreads * kPlaces) usleep(100);
  usleep(static_cast<useconds_t>(Mixed(state) % 20'000));
  ASSERT_EQ(kill(*child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(*child, &status, 0), *child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

void ExpectNear(double is, uint64_t counted, uint64_t slack, const char* what) {
  EXPECT_NEAR(is, static_cast<double>(counted), static_cast<double>(slack)) << what;
}

// A thread may be killed between making a block and counting it here, or between two stores of the
// recording.  That is one block for each, among the births and among the deaths.
void ExpectWhole(const Process& process, const SharedCounts& counts) {
  EXPECT_EQ(process.damaged, 0u);
  EXPECT_TRUE(process.notes.empty()) << process.notes.front();
  recording::Sum rows, live, threads;
  for (const Process::Row& row : process.rows) {
    rows.Add(row.allocated);
    live.Add(row.live);
  }
  for (const Process::Thread& thread : process.threads) threads.Add(thread.allocated);
  const uint64_t dropped = process.record.missing[recording::Shortage::kSamples];
  EXPECT_EQ(dropped, 0u);
  const uint64_t slack = kThreads;
  const uint64_t slack_bytes = kThreads * kMostBytes;
  ExpectNear(static_cast<double>(rows.samples), counts->born, slack, "blocks of rows");
  ExpectNear(static_cast<double>(threads.samples), counts->born, slack, "blocks of threads");
  ExpectNear(rows.bytes, counts->born_bytes, slack_bytes, "bytes of rows");
  ExpectNear(threads.bytes, counts->born_bytes, slack_bytes, "bytes of threads");
  ExpectNear(static_cast<double>(live.samples), counts->born - counts->died, slack, "live blocks");
  ExpectNear(live.bytes, counts->born_bytes - counts->died_bytes, slack_bytes, "live bytes");
  ExpectNear(static_cast<double>(process.live.size()), counts->born - counts->died, slack,
             "blocks that are listed");
}

Process ChildOf(const recording::Recording& read, pid_t child) {
  for (const Process& process : read.processes) {
    if (process.record.pid == static_cast<uint32_t>(child)) return process;
  }
  ADD_FAILURE() << "no process " << child;
  return {};
}

TEST(KillTest, MemoryFileIsWholeAfterAKill) {
  uint64_t state = 1;
  for (int i = 0; i < Kills(); ++i) {
    const testing::MemoryFile file(uint64_t{64} << 20);
    RecordingOptions options = testing::EveryBlock("kill");
    options.path = file.path();
    const absl::StatusOr<RecordingId> id = Recording::Start(options);
    ASSERT_TRUE(id.ok()) << id.status();
    const SharedCounts counts;
    pid_t child = 0;
    KillOne(counts, &state, &child);
    recording::Recording read;
    std::string error;
    ASSERT_TRUE(ReadRecording(recording::DescriptorBytes(file.fd()), &read, &error)) << error;
    ExpectWhole(ChildOf(read, child), counts);
    EXPECT_TRUE(Recording::Stop(*id).ok());
  }
}

// The name of the child's file contains its process id.
TEST(KillTest, NamedFileIsWholeAfterAKill) {
  uint64_t state = 2;
  for (int i = 0; i < Kills(); ++i) {
    const testing::Recorded recorded(testing::EveryBlock("kill"));
    const SharedCounts counts;
    pid_t child = 0;
    KillOne(counts, &state, &child);
    const std::string path = recorded.path() + "." + std::to_string(child);
    ExpectWhole(ChildOf(testing::ReadFile(path), child), counts);
    unlink(path.c_str());
  }
}

}  // namespace
}  // namespace allomon
