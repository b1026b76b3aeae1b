// The contents of a heap snapshot: which objects keep which alive, and their names.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/marshal.h"
#include "runtime/weak.h"
#include "tests/runtime/snapshot_case.h"

namespace allomon::gc {
namespace {

INSTANTIATE_TEST_SUITE_P(Modes, SnapshotTest, ::testing::Values("growth=100", "stress=1"));

TEST_P(SnapshotTest, AGlobalIsShownByItsName) {
  Global<Cell> named("cells");
  Global<Holder> nameless;
  named = make<Cell>(1, make<Cell>(2, nullptr));
  nameless = make<Holder>(nullptr);
  const Graph graph = Take();
  ASSERT_EQ(graph.NodesOf("Cell").size(), 2u);
  EXPECT_EQ(graph.WayTo(graph.NodesOf("Cell")[0]).substr(0, 15), "(Globals).cells");
  EXPECT_EQ(graph.WayTo(graph.Only("Holder")), "(Globals)[0]");
}

TEST_P(SnapshotTest, ALocalIsShownWithItsThread) {
  const Local<Cell> cell = make<Cell>(1, nullptr);
  const Graph graph = TakeWithStacks();
  const std::string way = graph.WayTo(graph.Only("Cell"));
  EXPECT_EQ(way.substr(0, Locals().size() + 1), Locals() + "[");
  EXPECT_EQ(cell->head, 1);
}

TEST_P(SnapshotTest, ARootIsShownWithItsThread) {
  const Root<Cell> cell = make<Cell>(1, nullptr);
  const Root<Cell> none;  // the newer one comes first
  const Graph graph = Take();
  const std::string thread = std::to_string(allomon::internal::OwnThreadId());
  EXPECT_EQ(graph.EdgesOf(graph.Only("(Roots of thread " + thread + ")")), "[1] ");
}

TEST_P(SnapshotTest, AValueStackIsAGroupOfItsOwn) {
  ValueStack<Cell, 8> stack;
  stack.Push(make<Cell>(1, nullptr));
  stack.Push(nullptr);
  stack.Push(make<Cell>(2, nullptr));
  const Graph graph = Take();
  const std::string name =
      "(Value stack 1 of thread " + std::to_string(allomon::internal::OwnThreadId()) + ")";
  EXPECT_EQ(graph.EdgesOf(graph.Only(name)), "[0] [2] ");
}

TEST_P(SnapshotTest, ANumberInAValueIsNoEdge) {
  Global<Array<Value>> values("values");
  values = make_array<Value>(4);
  values.get()->at(0) = Value::Int(5);
  values.get()->at(1) = Value::Double(-2.5);
  values.get()->at(2) = make<Cell>(1, nullptr);
  values.get()->at(3) = Value::Bool(true);
  Global<Value> number("number");
  number = Value::Double(1e300);
  ValueStack<Value> stack;
  stack.Push(Value::Int(3));
  stack.Push(values.get());
  const Graph graph = Take();
  EXPECT_EQ(graph.EdgesOf(graph.Only("Array<Value>")), "[2] ");
  EXPECT_EQ(graph.EdgesOf(graph.Only("(Globals)")), ".values ");
  const std::string name =
      "(Value stack 1 of thread " + std::to_string(allomon::internal::OwnThreadId()) + ")";
  EXPECT_EQ(graph.EdgesOf(graph.Only(name)), "[1] ");
}

TEST_P(SnapshotTest, AnEphemeronsKeyKeepsItsValue) {
  Global<Cell> key("key");
  key = make<Cell>(1, nullptr);
  Global<Ephemeron<Cell, Holder>> ephemeron("ephemeron");
  ephemeron = make_ephemeron<Cell, Holder>(key.get(), make<Holder>(nullptr));
  const Graph graph = Take();
  const uint32_t holder = graph.Only("Holder");
  EXPECT_EQ(graph.dominators().dominator[holder], graph.Only("Cell"));
  EXPECT_EQ(graph.WayTo(holder), "(Globals).key.value of an ephemeron");
  EXPECT_EQ(graph.EdgesOf(graph.Only("Ephemeron<Cell, Holder>")), ".key (weak) .value (weak) ");
}

TEST_P(SnapshotTest, AKeyOfAWeakMapKeepsItsValue) {
  Global<Cell> key("key");
  key = make<Cell>(1, nullptr);
  Global<WeakMap<Cell, Value>> map("map");
  map = make_weak_map<Cell, Value>();
  map.get()->set(key.get(), make<Holder>(nullptr));
  map.get()->set(make<Cell>(2, nullptr), Value::Int(3));
  const Graph graph = Take();
  const uint32_t holder = graph.Only("Holder");
  EXPECT_EQ(graph.dominators().dominator[holder], graph.Only("Cell"));
  EXPECT_EQ(graph.WayTo(holder), "(Globals).key.value of an ephemeron");
  EXPECT_EQ(graph.EdgesOf(graph.Only("WeakMap<Cell, Value>")), "[0] ");
  EXPECT_EQ(graph.EdgesOf(graph.Only("entries of a WeakMap")), ".key (weak) .value (weak) ");
}

TEST_P(SnapshotTest, WhatOnlyAWeakReferenceReachesIsNotThere) {
  Root<Cell> cell = make<Cell>(1, nullptr);
  Global<WeakRef<Cell>> weak("weak");
  weak = make_weak<Cell>(cell);
  const Graph before = Take();
  const std::string type = "Ephemeron<Cell, void>";
  EXPECT_EQ(before.EdgesOf(before.Only(type)), ".key (weak) ");
  EXPECT_EQ(before.WayTo(before.Only("Cell")).substr(0, 6), "(Roots");
  cell = nullptr;
  const Graph after = Take();
  EXPECT_TRUE(after.NodesOf("Cell").empty());
  EXPECT_EQ(after.EdgesOf(after.Only(type)), "");
}

TEST_P(SnapshotTest, AnObjectWhoseFinalizerIsDueIsShownOnceMore) {
  bool ran = false;
  OnAnotherThread([&ran] {
    const Local<Cell> cell = make<Cell>(1, make<Cell>(2, nullptr));
    add_finalizer<Cell>(cell, [&ran](Handle<Cell>) { ran = true; });
  });
  const Graph graph = Take();
  EXPECT_TRUE(ran) << "at the safepoint behind the snapshot";
  ASSERT_EQ(graph.NodesOf("Cell").size(), 2u);
  const std::string ways =
      graph.WayTo(graph.NodesOf("Cell")[0]) + " " + graph.WayTo(graph.NodesOf("Cell")[1]);
  EXPECT_NE(ways.find("(Finalizers that are due)[0].tail"), std::string::npos) << ways;
  EXPECT_TRUE(Take().NodesOf("Cell").empty());
}

TEST_P(SnapshotTest, CyclesAreThereOnceAndDeadOnesNot) {
  Global<Cell> ring("ring");
  for (int i = 0; i < 2; ++i) {
    const Root<Cell> cell = make<Cell>(1, nullptr);
    cell->tail = make<Cell>(2, cell);
    ring = cell;
  }
  const Graph graph = Take();
  EXPECT_EQ(graph.NodesOf("Cell").size(), 2u);
  EXPECT_EQ(graph.dominators().retained_bytes[0], 48u);
}

TEST_P(SnapshotTest, MemoryOfCustomBlocksIsRetained) {
  static int released = 0;
  const Root<CustomBlock> block = make_custom(&released, 12345, [](void*) { ++released; });
  const Root<CustomBlock> empty = make_custom(&released, 0, [](void*) { ++released; });
  const Graph graph = Take();
  EXPECT_EQ(graph.NodesOf("CustomBlock").size(), 2u);
  EXPECT_EQ(graph.NodesOf("memory outside the heap").size(), 2u);
  EXPECT_EQ(graph.dominators().retained_bytes[0], 12345u + 2 * 24);
}

TEST_P(SnapshotTest, LargeObjectsHaveEdgesInAndOut) {
  Global<Array<Cell>> array("array");
  array = make_array<Cell>(5000);
  array.get()->at(4321) = make<Cell>(1, nullptr);
  Global<Bytes> bytes("bytes");
  bytes = make_bytes(100001);
  const Graph graph = Take();
  EXPECT_EQ(graph.WayTo(graph.Only("Cell")), "(Globals).array[4321]");
  const uint32_t node = graph.Only("Bytes");
  EXPECT_EQ(graph.WayTo(node), "(Globals).bytes");
  EXPECT_EQ(graph.graph().self_bytes[node], 100024u) << "whole words, length and header";
}

TEST_P(SnapshotTest, NamesAreThoseThatTypesDeclare) {
  const Root<Cell> cell = make<Cell>(1, nullptr);
  const Root<Pair> pair = make<Pair>(cell, 5, cell);
  const Root<Backwards> backwards = make<Backwards>();
  backwards->cells[0] = cell;
  backwards->cells[1] = cell;
  const Graph graph = Take();
  EXPECT_EQ(graph.EdgesOf(graph.Only("a pair of \"cells\"")), "[0] [1] ");
  EXPECT_EQ(graph.EdgesOf(graph.Only("Backwards")), ".first .last ");
}

TEST_P(SnapshotTest, LiveByTypeCountsWhatTheSnapshotHas) {
  Root<Cell> list;
  for (long i = 0; i < 1000; ++i) {
    list = make<Cell>(i, list);
    make<Holder>(list);  // garbage
  }
  const Root<Array<Cell>> array = make_array<Cell>(2000);
  heap_->core().scans_stacks = false;
  const std::vector<LiveType> types = heap_->LiveByType();
  heap_->core().scans_stacks = true;
  ASSERT_EQ(types.size(), 2u);
  EXPECT_STREQ(types[0].name, "Cell");
  EXPECT_EQ(types[0].objects, 1000u);
  EXPECT_EQ(types[0].bytes, 1000u * 24);
  EXPECT_STREQ(types[1].name, "Array<Cell>");
  EXPECT_EQ(types[1].bytes, 2000u * 8 + 16);
  const Graph graph = Take();
  EXPECT_EQ(graph.NodesOf("Cell").size(), 1000u);
  EXPECT_EQ(graph.dominators().retained_bytes[0], types[0].bytes + types[1].bytes);
}

TEST_P(SnapshotTest, AnObjectKeepsItsIdWhileItLives) {
  Root<Cell> list;
  for (long i = 0; i < 800; ++i) list = make<Cell>(i, list);
  const Graph before = Take();
  for (long i = 0; i < 800; ++i) make<Cell>(i, nullptr);
  const Graph after = Take();
  EXPECT_EQ(before.graph().node_id, after.graph().node_id);
}

TEST_P(SnapshotTest, WhatWasUnmarshalledIsThere) {
  MarshalTypes types;
  types.Add<Cell>("cell");
  const auto bytes = marshal<Cell>(make<Cell>(1, make<Cell>(2, nullptr)), types);
  const Root<Cell> copy = *unmarshal<Cell>(*bytes, types);
  EXPECT_EQ(Take().NodesOf("Cell").size(), 2u);
}

TEST_P(SnapshotTest, AThreadThatIsNotAttachedMayTakeOne) {
  const Root<Cell> cell = make<Cell>(1, nullptr);
  const NativeRegion native;
  std::thread([this] {
    EXPECT_EQ(Take().NodesOf("Cell").size(), 1u);
    EXPECT_EQ(heap_->LiveByType().size(), 1u);
  }).join();
}

// Each other thread's list must be complete in every snapshot: it is built of pairs of cells.
TEST_P(SnapshotTest, OtherThreadsStandMeanwhile) {
  std::atomic<bool> stop{false};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([this, &stop, &started] {
      const Mutator mutator(*heap_);
      Root<Holder> holder = make<Holder>(nullptr);
      ++started;
      for (long n = 0; !stop; ++n) {
        holder->cell = n % 100 == 0 ? Local<Cell>() : make<Cell>(n, holder->cell);
        Safepoint();
      }
    });
  }
  while (started < 3) Safepoint();
  for (int i = 0; i < 5; ++i) {
    const Graph graph = TakeWithStacks();
    EXPECT_EQ(graph.NodesOf("Holder").size(), 3u);
    uint64_t bytes = 0;
    for (const uint64_t self : graph.graph().self_bytes) bytes += self;
    EXPECT_EQ(graph.dominators().retained_bytes[0], bytes) << "all is reached";
  }
  stop = true;
  const NativeRegion native;
  for (std::thread& thread : threads) thread.join();
}

TEST_P(SnapshotTest, AForkedChildHasItsOwnRootsOnly) {
  std::atomic<bool> stop{false};
  std::atomic<bool> started{false};
  std::thread other([this, &stop, &started] {
    const Mutator mutator(*heap_);
    const Root<Holder> holder = make<Holder>(nullptr);
    started = true;
    const NativeRegion native;
    while (!stop) std::this_thread::yield();
  });
  while (!started) Safepoint();
  const Root<Cell> cell = make<Cell>(1, nullptr);
  const std::string path = Path("child.heapsnapshot");
  const pid_t child = fork();
  if (child == 0) _exit(heap_->WriteSnapshot(path).ok() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const Graph graph(path);
  EXPECT_EQ(graph.WayTo(graph.Only("Cell")), "(Locals of thread " + std::to_string(child) + ")[0]");
  EXPECT_TRUE(graph.NodesOf("Holder").empty());
  stop = true;
  const NativeRegion native;
  other.join();
}

// --- Names.

template <typename T>
std::string Name() {
  return internal::TypeInfoOf<T>::kInfo.name;
}

TEST(TypeNames, AreTheSpelledOnesOfBothCompilers) {
  EXPECT_EQ(Name<Cell>(), "Cell");
  EXPECT_EQ(Name<Bytes>(), "Bytes");
  EXPECT_EQ(Name<CustomBlock>(), "CustomBlock");
  EXPECT_EQ(Name<Array<Cell>>(), "Array<Cell>");
  EXPECT_EQ(Name<Array<Array<Cell>>>(), "Array<Array<Cell>>");
  EXPECT_EQ((Name<Ephemeron<Cell, Pair>>()), "Ephemeron<Cell, Pair>");
  EXPECT_EQ(Name<Pair>(), "a pair of \"cells\"");
}

// Snapshots of a heap that cannot be written.

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

size_t FilesIn(const std::string& folder) {
  size_t files = 0;
  DIR* const entries = opendir(folder.c_str());
  while (readdir(entries) != nullptr) ++files;
  closedir(entries);
  return files;
}

class SnapshotFile : public SnapshotTest {};
INSTANTIATE_TEST_SUITE_P(Modes, SnapshotFile, ::testing::Values("growth=100"));

TEST_P(SnapshotFile, AFullDiskIsOneLine) {
  const Root<Cell> cell = make<Cell>(1, nullptr);
  const absl::Status status = heap_->WriteSnapshot("/dev/full");
  EXPECT_EQ(std::string(status.message()),
            "cannot write /dev/full: No space left on device; make room or choose another output");
}

TEST_P(SnapshotFile, AMissingFolderIsOneLine) {
  const absl::Status status = heap_->WriteSnapshot(Path("none/x.heapsnapshot"));
  EXPECT_EQ(std::string(status.message()), "cannot write " + Path("none/x.heapsnapshot") +
                                               ": No such file or directory; create the directory "
                                               "or choose another output");
}

// The old file stays, and no temporary file remains.
TEST_P(SnapshotFile, AWriteThatFailsInTheMiddleLeavesTheOldFile) {
  Root<Cell> list;
  for (long i = 0; i < 100000; ++i) list = make<Cell>(i, list);
  const std::string folder = Path("limited");
  ASSERT_EQ(system(("rm -rf '" + folder + "'; mkdir '" + folder + "'").c_str()), 0);
  std::ofstream(folder + "/x.heapsnapshot") << "old";
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const absl::Status status = heap_->WriteSnapshot(folder + "/x.heapsnapshot");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("File too large; make room"), std::string::npos);
  EXPECT_EQ(Contents(folder + "/x.heapsnapshot"), "old");
  EXPECT_EQ(FilesIn(folder), 3u);  // with . and ..
  EXPECT_TRUE(heap_->WriteSnapshot(folder + "/x.heapsnapshot").ok()) << "the heap goes on";
  EXPECT_EQ(Graph(folder + "/x.heapsnapshot").NodesOf("Cell").size(), 100000u);
}

TEST_P(SnapshotFile, NotWhereObjectsMayNotMove) {
  EXPECT_DEATH(
      {
        const NoAllocation scope;
        static_cast<void>(heap_->WriteSnapshot(Path("x")));
      },
      "rule.no_allocation");
  EXPECT_DEATH(
      {
        const NativeRegion native;
        heap_->LiveByType();
      },
      "rule.native");
}

}  // namespace
}  // namespace allomon::gc
