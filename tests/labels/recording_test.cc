// The labels in a recording: the live blocks of each label, also of managed objects and in
// children.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allomon/labels.h"
#include "runtime/heap.h"
#include "tests/recording/recorded.h"
#include "tools/heap/born.h"
#include "tools/heap/labels.h"
#include "tools/load/recording/recording_profile.h"

namespace allomon {
namespace {

using heap::Metric;
using testing::EveryBlock;
using testing::Recorded;

// Live bytes by the value of a label.
std::map<std::string, double> LiveBy(const std::string& key, const std::string& path) {
  recording::RecordingOptions options;
  options.names = false;
  const auto profiles = recording::ReadRecordingProfiles(path, options);
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  std::map<std::string, double> live;
  for (const heap::HeapProfile& profile : *profiles) {
    for (const heap::Sample& sample : profile.samples) {
      const double bytes = sample[Metric::kLive].bytes;
      if (bytes > 0) live[std::string(heap::LabelValue(sample, key))] += bytes;
    }
  }
  return live;
}

TEST(LabelRecordingTest, LiveBytesByTenant) {
  const Recorded recorded(EveryBlock("labels"));
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    const std::string name = i % 2 == 0 ? "acme" : "zeta";
    const ScopedLabel tenant("tenant", name);
    blocks.push_back(SamplingMalloc(1000));
  }
  blocks.push_back(SamplingMalloc(500));
  const std::map<std::string, double> all = {{"acme", 50'000}, {"zeta", 50'000}, {"(none)", 500}};
  EXPECT_EQ(LiveBy("tenant", recorded.path()), all);
  for (size_t i = 0; i < 100; i += 2) SamplingFree(blocks[i]);
  const std::map<std::string, double> left = {{"zeta", 50'000}, {"(none)", 500}};
  EXPECT_EQ(LiveBy("tenant", recorded.path()), left);
  const std::map<std::string, double> others = {{"(none)", 50'500}};
  EXPECT_EQ(LiveBy("request", recorded.path()), others);
  for (size_t i = 1; i < 100; i += 2) SamplingFree(blocks[i]);
  SamplingFree(blocks[100]);
}

TEST(LabelRecordingTest, BlockKeepsItsLabelsWhoeverFreesIt) {
  const Recorded recorded(EveryBlock("freed elsewhere"));
  void* block = nullptr;
  {
    const ScopedLabel tenant("tenant", "acme");
    block = SamplingMalloc(1000);
  }
  std::thread([block] {
    const ScopedLabel tenant("tenant", "zeta");
    SamplingFree(block);
  }).join();
  EXPECT_EQ(LiveBy("tenant", recorded.path()).count("acme"), 0u);
  EXPECT_EQ(LiveBy("tenant", recorded.path()).count("zeta"), 0u);
}

struct Cell {
  long value;
  gc::Field<Cell> next;
};

TEST(LabelRecordingTest, ManagedObjectsKeepLabelsThroughPromotion) {
  const Recorded recorded(EveryBlock("managed labels"));
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  const gc::Mutator mutator(**heap);
  gc::Root<Cell> list;
  {
    const ScopedLabel tenant("tenant", "acme");
    for (int i = 0; i < 100; ++i) list = gc::make<Cell>(i, list);
  }
  EXPECT_EQ(LiveBy("tenant", recorded.path())["acme"], 2400);
  (*heap)->CollectFromTop(gc::CollectionKind::kMinor);
  EXPECT_EQ(LiveBy("tenant", recorded.path())["acme"], 2400);
  list = nullptr;
  (*heap)->CollectFromTop(gc::CollectionKind::kMajor);
  EXPECT_EQ(LiveBy("tenant", recorded.path()).count("acme"), 0u);
}

std::string ChildsPath(const std::string& path, pid_t child) {
  return path + "." + std::to_string(child);
}

TEST(LabelRecordingTest, ChildOfForkHasItsParentsScopesAndNumbers) {
  const Recorded recorded(EveryBlock("forked labels"));
  const ScopedLabel tenant("tenant", "acme");
  const Labels labels = CurrentLabels();
  SamplingFree(SamplingMalloc(64));
  const pid_t child = fork();
  if (child == 0) {
    void* const outer = SamplingMalloc(1000);
    const ScopedLabel own("tenant", "of the child");
    void* const inner = SamplingMalloc(2000);
    const WithLabels with(labels);
    void* const again = SamplingMalloc(3000);
    _exit(outer != nullptr && inner != nullptr && again != nullptr ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string path = ChildsPath(recorded.path(), child);
  std::map<std::string, double> live = LiveBy("tenant", path);
  EXPECT_EQ(live["acme"], 4000);
  EXPECT_EQ(live["of the child"], 2000);
  unlink(path.c_str());
}

// Live bytes that outlived a request.
double OutlivedBytes(const std::string& path) {
  recording::RecordingOptions options;
  options.names = false;
  auto profiles = recording::ReadRecordingProfiles(path, options);
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(heap::KeepOutlived({true, "request"}, &profiles->front()), "");
  double bytes = 0;
  for (const heap::Sample& sample : profiles->front().samples) bytes += sample[Metric::kLive].bytes;
  return bytes;
}

// The parent's scope is open in both.  Blocks of the child are in its own recording.
TEST(LabelRecordingTest, ChildOfForkEndsItsParentsScopes) {
  const Recorded recorded(EveryBlock("forked ends"));
  void* blocks[3] = {};
  pid_t child = 0;
  {
    const ScopedLabel request("request", "1", kEnds);
    blocks[0] = SamplingMalloc(1000);
    child = fork();
    blocks[1] = SamplingMalloc(child == 0 ? 24 : 3);
  }
  if (child == 0) {
    blocks[2] = SamplingMalloc(5);
    _exit(OutlivedBytes(ChildsPath(recorded.path(), getpid())) == 24 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(OutlivedBytes(recorded.path()), 1003);
  unlink(ChildsPath(recorded.path(), child).c_str());
  for (void* const block : blocks) SamplingFree(block);
}

// Threads fork while others intern sets: no child waits for a lock that none of its threads holds.
TEST(LabelRecordingTest, ForkWhileOthersInternSets) {
  std::atomic<bool> done{false};
  std::thread interning([&done] {
    for (int i = 0; !done && i < 30'000; ++i) {
      const std::string number = std::to_string(i);
      const ScopedLabel label("number", number);
      CurrentLabels();
    }
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const std::string number = "child " + std::to_string(i);
      const ScopedLabel label("number", number);
      _exit(CurrentLabels().empty() ? 1 : 0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  interning.join();
}

void AllocateInHandler(int) {
  const ScopedLabel inner("in", "handler");
  SamplingFree(SamplingMalloc(100));
}

// A handler opens and closes scopes between any two instructions of its thread.
TEST(LabelRecordingTest, SignalHandlersWithScopes) {
  const Recorded recorded(EveryBlock("signals"));
  struct sigaction action = {};
  action.sa_handler = AllocateInHandler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> done{false};
  const pthread_t main_thread = pthread_self();
  std::thread sender([&] {
    while (!done) {
      pthread_kill(main_thread, SIGUSR1);
      usleep(50);
    }
  });
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) {
    const ScopedLabel tenant("tenant", i % 2 == 0 ? "acme" : "zeta");
    if (i % 10 != 0) continue;
    blocks.push_back(SamplingMalloc(1000));
    const ScopedLabel inner("in", "loop");
    CurrentLabels();
  }
  done = true;
  sender.join();
  signal(SIGUSR1, SIG_DFL);
  // A handler that runs between a block's countdown and its trial takes the hit in its place.
  const double live = LiveBy("tenant", recorded.path())["acme"];
  EXPECT_LE(live, 2'000'000);
  EXPECT_GE(live, 1'900'000);
  EXPECT_EQ(LiveBy("tenant", recorded.path()).count("zeta"), 0u);
  EXPECT_EQ(LiveBy("in", recorded.path()).count("handler"), 0u);
  for (void* const block : blocks) SamplingFree(block);
}

}  // namespace
}  // namespace allomon
