// Trackers of tracker.h in a program that replaces no malloc: those of a preloaded library.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allomon/labels.h"
#include "tracker/custom_memory.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

namespace {

#define EXPECT(condition)                                     \
  do {                                                        \
    if (!(condition)) {                                       \
      printf("line %d: %s is false\n", __LINE__, #condition); \
      exit(1);                                                \
    }                                                         \
  } while (false)

struct Counts {
  std::atomic<int> allocs{0}, deallocs{0}, survivors{0}, values{0}, trackers{0};
  std::atomic<uint64_t> bytes{0}, custom_bytes{0}, acme_bytes{0};
};
Counts counts;

// Larger than an entry's room, and counted.
struct Value {
  explicit Value(uint64_t bytes) : bytes(bytes) { ++counts.values; }
  Value(Value&& other) noexcept : bytes(other.bytes) { ++counts.values; }
  ~Value() { --counts.values; }
  uint64_t bytes;
  std::string text = "a text that is not short enough to lie in place";
};

class Follow {
 public:
  Follow() { ++counts.trackers; }
  Follow(Follow&&) noexcept { ++counts.trackers; }
  ~Follow() { --counts.trackers; }
  std::optional<Value> alloc_major(const allomon::Allocation& allocation) {
    if (allocation.size_bytes == 77777) throw std::runtime_error("77777");
    ++counts.allocs;
    if (allocation.source == allomon::AllocationSource::kCustom) {
      counts.custom_bytes += allocation.size_bytes;
    }
    if (allocation.labels.ValueOf("tenant") == "acme") counts.acme_bytes += allocation.size_bytes;
    EXPECT(allocation.n_samples == allomon::TrialWords(allocation));
    return Value(allocation.size_bytes);
  }
  void dealloc_major(Value value) {
    ++counts.deallocs;
    counts.bytes += value.bytes;
  }
  void survive_major(const allomon::Allocation& allocation, Value value) {
    EXPECT(allocation.size_bytes == value.bytes);
    ++counts.survivors;
  }
};

using allomon::StopMode;
using allomon::Tracker;

void* volatile g_block;

void Allocate(size_t size_bytes) {
  g_block = malloc(size_bytes);
  free(g_block);
}

void FollowsBlocksOfEachThread() {
  const auto id = Tracker::start(1, Follow{});
  EXPECT(id.ok());
  EXPECT(Tracker::is_sampling());
  const int before = counts.deallocs;
  std::thread([] { Allocate(1000); }).join();
  EXPECT(counts.deallocs > before);
  EXPECT(counts.bytes >= 1000);
  Allocate(77777);
  const auto statistics = Tracker::statistics(*id);
  EXPECT(statistics.ok());
  EXPECT(statistics->rate == 1);
  EXPECT(statistics->callback_exceptions == 1);
  EXPECT(statistics->reported_blocks > 1);
  EXPECT(!Tracker::start(1, Follow{}).ok());
  EXPECT(Tracker::stop().ok());
  EXPECT(!Tracker::is_sampling());
  EXPECT(!Tracker::statistics(*id).ok());
  EXPECT(counts.values == 0);
  EXPECT(counts.trackers == 0);
}

void KeepsDrainsAndTakesSnapshots() {
  const auto id = Tracker::start(1, Follow{});
  EXPECT(id.ok());
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 10; ++i) blocks.emplace_back(new char[100000]);
  EXPECT(Tracker::stop(*id, StopMode::kKeepTracking).ok());
  const std::vector<allomon::LiveStack> stacks = Tracker::snapshot(*id);
  EXPECT(!stacks.empty());
  EXPECT(stacks[0].sampled_blocks == 10);
  EXPECT(stacks[0].estimate.bytes.value == 1e6);
  EXPECT(stacks[0].callstack.size() > 1);
  EXPECT(Tracker::drain(*id).ok());
  EXPECT(counts.survivors >= 10);
  EXPECT(!Tracker::discard(*id).ok());
  EXPECT(counts.values == 0);
  EXPECT(counts.trackers == 0);
}

void KnowsWhoseMemoryItIs() {
  const auto id = Tracker::start(1, Follow{});
  EXPECT(id.ok());
  std::vector<std::unique_ptr<char[]>> blocks;
  blocks.reserve(10);
  {
    const allomon::ScopedLabel tenant("tenant", "acme");
    for (int i = 0; i < 10; ++i) blocks.emplace_back(new char[300000]);
  }
  EXPECT(counts.acme_bytes == 3000000);
  EXPECT(Tracker::stop(*id, StopMode::kKeepTracking).ok());
  const std::vector<allomon::LiveLabels> labels = Tracker::snapshot_by_labels(*id);
  EXPECT(!labels.empty());
  EXPECT(labels[0].labels.ValueOf("tenant") == "acme");
  EXPECT(labels[0].estimate.bytes.value == 3e6);
  EXPECT(labels[0].sampled_blocks == 10);
  const std::vector<allomon::LiveTypeStack> types = Tracker::snapshot_by_types(*id);
  EXPECT(!types.empty());
  EXPECT(types[0].type_name == nullptr);
  EXPECT(types[0].estimate.bytes.value == 3e6);
  EXPECT(Tracker::discard(*id).ok());
  EXPECT(Tracker::snapshot_by_labels(*id).empty());
  EXPECT(Tracker::snapshot_by_types(*id).empty());
}

void ReportsItsOwnBytes() {
  const auto id = Tracker::start(1, Follow{});
  EXPECT(id.ok());
  {
    allomon::CustomMemory first(1 << 20);
    allomon::CustomMemory second(1 << 20);
    EXPECT(counts.custom_bytes == 2 << 20);
  }
  EXPECT(Tracker::stop(*id).ok());
  EXPECT(counts.values == 0);
}

void RefusesWhatIsWrong() {
  EXPECT(Tracker::start(2, Follow{}).status().code() == absl::StatusCode::kInvalidArgument);
  EXPECT(Tracker::stop().code() == absl::StatusCode::kFailedPrecondition);
  EXPECT(Tracker::stop({0}).code() == absl::StatusCode::kFailedPrecondition);
  EXPECT(counts.trackers == 0);
}

void Records() {
  allomon::RecordingOptions options;
  options.path = "cxx_host.rec";
  options.rate = 1;
  const auto id = allomon::Recording::Start(options);
  if (!id.ok()) printf("%s\n", std::string(id.status().message()).c_str());
  EXPECT(id.ok());
  Allocate(1000);
  const auto statistics = allomon::Recording::ReadStatistics(*id);
  EXPECT(statistics.ok());
  EXPECT(statistics->samples > 0);
  EXPECT(allomon::Recording::Stop(*id).ok());
  EXPECT(!allomon::Recording::Stop(*id).ok());
  options.path = "/nowhere/at/all";
  const auto nowhere = allomon::Recording::Start(options);
  EXPECT(nowhere.status().code() == absl::StatusCode::kUnavailable);
}

// A child continues with its copy of the tracker.
void GoesOnInAChild() {
  const auto id = Tracker::start(1, Follow{});
  EXPECT(id.ok());
  const pid_t child = fork();
  if (child == 0) {
    const int before = counts.deallocs;
    Allocate(1000);
    _exit(counts.deallocs > before && Tracker::stop(*id).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(status == 0);
  EXPECT(Tracker::stop(*id).ok());
}

}  // namespace

int main() {
  const auto id = Tracker::start(1, Follow{}, {0, {}, true});
  EXPECT(id.ok());
  Allocate(1000);
  EXPECT(Tracker::stop(*id).ok());
  if (counts.allocs == 0) {
    printf("no block of malloc is followed\n");
    return 2;
  }
  FollowsBlocksOfEachThread();
  KeepsDrainsAndTakesSnapshots();
  KnowsWhoseMemoryItIs();
  ReportsItsOwnBytes();
  RefusesWhatIsWrong();
  Records();
  GoesOnInAChild();
  printf("all is well\n");
  return 0;
}
