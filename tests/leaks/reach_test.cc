// The marking of blocks, against a search through all of them; and the copy of a process.
#include "tools/leaks/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/leaks/snapshot.h"
#include "tools/leaks/stopped_process.h"
#include "tools/process/memory_room.h"

namespace allomon::leaks {
namespace {

TEST(BlocksTest, AddressesLeadToTheBlocksThatTheyLieIn) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    struct Place {
      uint64_t begin, end, number;
    };
    std::vector<Place> places;
    std::vector<std::vector<uint64_t>> extents;
    uint64_t at = 4096;
    for (int i = 0; i < 20; ++i) {
      at += 8 * (random() % 100);
      const uint64_t size = random() % 4 == 0 ? 0 : 8 * (1 + random() % 20);
      const uint64_t bytes = 8 * (random() % 200);
      extents.push_back({at, at + bytes, size});
      at += bytes;
    }
    std::shuffle(extents.begin(), extents.end(), random);
    Blocks blocks;
    for (const auto& extent : extents) {
      uint64_t number = blocks.Add(extent[0], extent[1], extent[2]);
      const uint64_t size = extent[2] == 0 ? extent[1] - extent[0] : extent[2];
      for (uint64_t begin = extent[0]; size > 0 && begin + size <= extent[1]; begin += size) {
        places.push_back({begin, begin + size, number++});
      }
    }
    std::set<uint64_t> reached;
    blocks.Sort();
    for (int i = 0; i < 2000; ++i) {
      const uint64_t address = random() % (at + 4096);
      const Place* expected = nullptr;
      for (const Place& place : places) {
        if (place.begin <= address && address < place.end) expected = &place;
      }
      Blocks::Block block;
      const bool is_new = blocks.Reach(address, Blocks::Mark::kRoot, &block);
      const bool expects_new = expected != nullptr && reached.count(expected->number) == 0;
      ASSERT_EQ(is_new, expects_new);
      if (!is_new) continue;
      ASSERT_EQ(block.number, expected->number);
      ASSERT_EQ(block.begin, expected->begin);
      ASSERT_EQ(block.begin + block.size_bytes, expected->end);
      reached.insert(block.number);
    }
    for (const Place& place : places) {
      ASSERT_EQ(blocks.IsReached(place.number), reached.count(place.number) == 1);
    }
  }
}

// Blocks in this program's own memory that refer to each other at random, after a page of roots.
class Graph {
 public:
  static constexpr uint64_t kBlocks = 256, kWords = 8, kRootWords = 512;

  explicit Graph(uint64_t seed) {
    std::mt19937_64 random(seed);
    words_ = static_cast<uint64_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const uint64_t references = random() % (2 * kBlocks);
    for (uint64_t i = 0; i < references; ++i)
      Refer(random() % kBlocks, random() % kBlocks, &random);
    for (uint64_t i = random() % 20; i > 0; --i) {
      words_[random() % kRootWords] = AddressOf(random() % kBlocks) + random() % (kWords * 8);
    }
    blocks_.Add(AddressOf(0), AddressOf(kBlocks), kWords * 8);
    blocks_.Sort();
    const explain::Process process(static_cast<uint32_t>(getpid()));
    const auto smaps = process.Smaps();
    EXPECT_TRUE(smaps.ok());
    std::vector<explain::Mapping> own;
    for (const explain::Mapping& mapping : explain::ParseMappings(*smaps)) {
      if (mapping.begin <= Begin() && Begin() < mapping.end) own.push_back(mapping);
    }
    // The root words are no block.
    if (seed % 2 == 0) snapshot_.LeaveOutData({{AddressOf(0), AddressOf(kBlocks)}});
    EXPECT_TRUE(snapshot_.Copy(process, own).ok());
  }
  ~Graph() { munmap(words_, kBytes); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  uint64_t Begin() const { return reinterpret_cast<uintptr_t>(words_); }
  uint64_t AddressOf(uint64_t block) const { return Begin() + (kRootWords + block * kWords) * 8; }
  Blocks::Block BlockOf(uint64_t block) const { return {block, AddressOf(block), kWords * 8}; }
  // The blocks that a range of words refers to.
  std::set<uint64_t> ReferredTo(uint64_t first_word, uint64_t count) const {
    std::set<uint64_t> to;
    for (uint64_t i = first_word; i < first_word + count; ++i) {
      if (words_[i] != 0) to.insert((words_[i] - AddressOf(0)) / (kWords * 8));
    }
    return to;
  }
  std::set<uint64_t> RootsOf() const { return ReferredTo(0, kRootWords); }
  std::set<uint64_t> NextOf(uint64_t block) const {
    return ReferredTo(kRootWords + block * kWords, kWords);
  }
  // The distance of each block from one of `from`.
  std::map<uint64_t, uint64_t> DistancesFrom(std::set<uint64_t> from) const {
    std::map<uint64_t, uint64_t> distances;
    for (uint64_t distance = 1; !from.empty(); ++distance) {
      std::set<uint64_t> next;
      for (const uint64_t block : from) {
        if (!distances.emplace(block, distance).second) continue;
        const std::set<uint64_t> referred = NextOf(block);
        next.insert(referred.begin(), referred.end());
      }
      from = std::move(next);
    }
    return distances;
  }
  const Snapshot& snapshot() const { return snapshot_; }
  Blocks& blocks() { return blocks_; }

 private:
  static constexpr uint64_t kBytes = (kRootWords + kBlocks * kWords) * 8;

  void Refer(uint64_t from, uint64_t to, std::mt19937_64* random) {
    words_[kRootWords + from * kWords + (*random)() % kWords] = AddressOf(to) + (*random)() % 64;
  }

  uint64_t* words_;
  Snapshot snapshot_;
  Blocks blocks_;
};

TEST(MarkerTest, ReferrersLeadBackToARootByShortestPaths) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Graph graph(seed);
    Marker marker(graph.snapshot(), &graph.blocks());
    marker.KeepReferrers();
    marker.AddRoots(graph.Begin(), graph.AddressOf(0));
    marker.Finish();
    const std::map<uint64_t, uint64_t> distances = graph.DistancesFrom(graph.RootsOf());
    for (uint64_t block = 0; block < Graph::kBlocks; ++block) {
      const auto expected = distances.find(block);
      ASSERT_EQ(graph.blocks().IsReached(block), expected != distances.end());
      if (expected == distances.end()) {
        ASSERT_EQ(marker.Referrer(block), 0u);
        continue;
      }
      uint64_t steps = 1;
      uint64_t place = marker.Referrer(block);
      for (Blocks::Block from; graph.blocks().Find(place, &from); ++steps) {
        place = marker.Referrer(from.number);
      }
      ASSERT_EQ(steps, expected->second) << seed << ", " << block;
      ASSERT_LT(place, graph.AddressOf(0));
    }
  }
}

// None of the directly lost blocks leads to another one, and they lead to all others.
TEST(DirectlyLostTest, EachLostBlockIsLedToByADirectOneOrIsOne) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Graph graph(seed);
    Marker marker(graph.snapshot(), &graph.blocks());
    marker.AddRoots(graph.Begin(), graph.AddressOf(0));
    marker.Finish();
    std::vector<Blocks::Block> lost;
    for (uint64_t block = 0; block < Graph::kBlocks; ++block) {
      if (!graph.blocks().IsReached(block)) lost.push_back(graph.BlockOf(block));
    }
    const std::vector<bool> is_direct = FindDirectlyLost(graph.snapshot(), lost, &graph.blocks());
    std::set<uint64_t> led_to;
    for (size_t i = 0; i < lost.size(); ++i) {
      if (!is_direct[i]) continue;
      std::map<uint64_t, uint64_t> from_it = graph.DistancesFrom(graph.NextOf(lost[i].number));
      from_it.erase(lost[i].number);
      for (const auto& [block, distance] : from_it) led_to.insert(block);
    }
    for (size_t i = 0; i < lost.size(); ++i) {
      ASSERT_NE(is_direct[i], led_to.count(lost[i].number) == 1) << seed << ", " << i;
    }
  }
}

// A child with two pages of words, which waits for a signal, and a page that it shares with this
// process.
class Child {
 public:
  Child() {
    shared_ = static_cast<uint64_t*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    shared_[7] = shared_address();
    page_ = static_cast<uint64_t*>(
        mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    pid_ = fork();
    if (pid_ != 0) return;
    for (uint64_t i = 0; i < 512; ++i) page_[512 + i] = i;
    page_[0] = 1;
    for (;;) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(page_, kPages * 4096);
    munmap(shared_, 4096);
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(page_); }
  uint64_t shared_address() const { return reinterpret_cast<uintptr_t>(shared_); }
  char State() const {
    const explain::ProcessFile file("/proc/" + std::to_string(pid_) + "/stat");
    const auto text = file.ReadAll();
    return text.ok() ? (*text)[text->rfind(')') + 2] : '?';
  }
  // It has written its pages, and waits.
  void Await() const {
    while (State() != 'S') usleep(1000);
  }

  static constexpr uint64_t kPages = 4;

 private:
  uint64_t* page_;
  uint64_t* shared_;
  pid_t pid_;
};

std::vector<explain::Mapping> MappingsOf(const explain::Process& process) {
  const auto smaps = process.Smaps();
  EXPECT_TRUE(smaps.ok()) << smaps.status();
  return smaps.ok() ? explain::ParseMappings(*smaps) : std::vector<explain::Mapping>{};
}

TEST(SnapshotTest, CopiesWhatTheProcessHasWritten) {
  const Child child;
  child.Await();
  const explain::Process process(child.pid());
  Snapshot snapshot;
  {
    const auto stopped = StoppedProcess::Stop(child.pid());
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    EXPECT_EQ((*stopped)->threads(), 1u);
    EXPECT_EQ((*stopped)->stack_pointers().size(), 1u);
    EXPECT_GT((*stopped)->registers().size(), 20u);
    EXPECT_EQ(child.State(), 't');
    const auto smaps = process.Smaps();
    ASSERT_TRUE(smaps.ok());
    ASSERT_TRUE(snapshot.Copy(process, explain::ParseMappings(*smaps)).ok());
  }
  child.Await();  // it goes on
  std::vector<uint64_t> words;
  snapshot.VisitWords(child.address(), child.address() + Child::kPages * 4096,
                      [&words](uint64_t word, uint64_t) { words.push_back(word); });
  ASSERT_EQ(words.size(), Child::kPages * 512);
  EXPECT_EQ(words[0], 1u);
  for (uint64_t i = 0; i < 512; ++i) ASSERT_EQ(words[512 + i], i);
  for (uint64_t i = 1024; i < words.size(); ++i) ASSERT_EQ(words[i], 0u);
  uint64_t value = 0;
  EXPECT_FALSE(snapshot.Read(8, &value));
  EXPECT_TRUE(snapshot.Read(child.address(), &value));
  EXPECT_GT(snapshot.copied_bytes(), 2 * 4096u);
}

TEST(SnapshotTest, PagesOfBlocksInWhichNoWordIsAnAddressAreLeftOut) {
  const Child child;
  child.Await();
  const explain::Process process(child.pid());
  Snapshot snapshot;
  std::vector<Snapshot::Extent> blocks = {{child.address() + 4096, child.address() + 3 * 4096},
                                          {child.shared_address(), child.shared_address() + 4096}};
  std::sort(blocks.begin(), blocks.end(), [](auto a, auto b) { return a.begin < b.begin; });
  snapshot.LeaveOutData(blocks);
  ASSERT_TRUE(snapshot.Copy(process, MappingsOf(process)).ok());
  uint64_t word = 0;
  EXPECT_TRUE(snapshot.Read(child.address(), &word));
  EXPECT_EQ(word, 1u);  // not of a block
  EXPECT_TRUE(snapshot.Read(child.address() + 4096 + 8, &word));
  EXPECT_EQ(word, 0u);
  EXPECT_TRUE(snapshot.Read(child.shared_address() + 7 * 8, &word));
  EXPECT_EQ(word, child.shared_address());
}

// By process_vm_readv(2) it would get a page of its own for each that is read: the copy of a large
// process would need its memory once more.
TEST(SnapshotTest, AForkGoesOnSharingThePagesThatAreRead) {
  const Child child;
  child.Await();
  const explain::Process process(child.pid());
  Snapshot snapshot;
  snapshot.ExpectFork(child.pid());
  ASSERT_TRUE(snapshot.Copy(process, MappingsOf(process)).ok());
  uint64_t word = 0;
  EXPECT_TRUE(snapshot.Read(child.shared_address() + 7 * 8, &word));
  EXPECT_EQ(word, child.shared_address());
  uint64_t entry = 0;
  constexpr uint64_t kHasPageForItself = uint64_t{1} << 56, kIsPresent = uint64_t{1} << 63;
  ASSERT_TRUE(process.page_table().ReadAt(child.shared_address() / 4096 * 8, &entry, 8));
  EXPECT_EQ(entry & (kIsPresent | kHasPageForItself), kIsPresent);
  ASSERT_TRUE(process.page_table().ReadAt(child.address() / 4096 * 8, &entry, 8));
  EXPECT_EQ(entry & (kIsPresent | kHasPageForItself), kIsPresent | kHasPageForItself);
}

// A process that stands is refused at once, and would be copied for minutes otherwise.
TEST(SnapshotTest, MoreMemoryThanTheMachineHasIsALine) {
  const Child child;
  child.Await();
  const explain::Process process(child.pid());
  std::vector<explain::Mapping> mappings = MappingsOf(process);
  mappings[0].is_readable = mappings[0].is_writable = true;
  mappings[0].resident_bytes = uint64_t{1} << 50;
  Snapshot snapshot;
  EXPECT_THAT(std::string(snapshot.Copy(process, mappings).message()),
              ::testing::HasSubstr("its memory is copied while it stands, 10737418"));
  EXPECT_EQ(snapshot.copied_bytes(), 0u);
}

TEST(SnapshotTest, PagesThatWereNeverTouchedStaySo) {
  const Child child;
  child.Await();
  const explain::Process process(child.pid());
  Snapshot snapshot;
  ASSERT_TRUE(snapshot.Copy(process, MappingsOf(process)).ok());
  EXPECT_EQ(process.ResidentBytes(child.address(), child.address() + Child::kPages * 4096),
            2 * 4096u);
}

TEST(StoppedProcessTest, ProcessThatIsGoneIsOneLine) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  const auto stopped = StoppedProcess::Stop(static_cast<uint32_t>(pid));
  EXPECT_FALSE(stopped.ok());
  EXPECT_EQ(std::string(stopped.status().message()), "there is no process " + std::to_string(pid));
}

// A folder that stands for the root, with the files that the kernel would have there.
class FakeRoot {
 public:
  explicit FakeRoot(const std::string& name) : path_(::testing::TempDir() + name) {
    std::filesystem::remove_all(path_);
    Write("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n");
  }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::ofstream(path_ + name) << text;
  }
  uint64_t Room() const { return process::MemoryRoomForTesting(path_, 7); }

 private:
  const std::string path_;
};

TEST(MemoryRoomTest, NearestLimitOfTheCgroupsCounts) {
  const FakeRoot root("v2");
  EXPECT_EQ(root.Room(), 0u);  // nothing is known of its cgroup
  root.Write("/proc/7/cgroup", "0::/a/b\n");
  EXPECT_EQ(root.Room(), 5000u << 10);
  root.Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  root.Write("/sys/fs/cgroup/a/b/memory.current", "400\n");
  EXPECT_EQ(root.Room(), 5000u << 10);
  root.Write("/sys/fs/cgroup/a/memory.max", "1000\n");
  root.Write("/sys/fs/cgroup/a/memory.current", "700\n");
  EXPECT_EQ(root.Room(), 300u);
  root.Write("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 150\nfile 3\n");
  EXPECT_EQ(root.Room(), 450u);
  root.Write("/sys/fs/cgroup/a/b/memory.max", "500\n");
  EXPECT_EQ(root.Room(), 100u);
  root.Write("/sys/fs/cgroup/a/b/memory.current", "600\n");
  EXPECT_EQ(root.Room(), 0u);
}

TEST(MemoryRoomTest, FirstVersionAndOtherNamespaces) {
  const FakeRoot root("v1");
  root.Write("/proc/7/cgroup", "12:cpu,memory:/c\n3:freezer:/other\n0::/\n");
  root.Write("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
  root.Write("/sys/fs/cgroup/memory/c/memory.usage_in_bytes", "800\n");
  EXPECT_EQ(root.Room(), 5000u << 10);
  root.Write("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "2000\n");
  EXPECT_EQ(root.Room(), 1200u);
  root.Write("/proc/7/cgroup", "12:memory:/../c\n");
  EXPECT_EQ(root.Room(), 0u);
}

}  // namespace
}  // namespace allomon::leaks
