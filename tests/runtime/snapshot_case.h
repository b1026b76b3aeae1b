// A heap whose snapshots are read back as graphs with dominators and paths.
#ifndef ALLOMON_TESTS_RUNTIME_SNAPSHOT_CASE_H_
#define ALLOMON_TESTS_RUNTIME_SNAPSHOT_CASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/heap_core.h"
#include "tools/snapshot/dominators.h"
#include "tools/snapshot/paths.h"
#include "tools/snapshot/read_snapshot.h"
#include "tracker/base/thread_id.h"

namespace allomon::gc {
struct Cell {
  static constexpr const char* kReferenceNames[] = {"tail"};
  long head;
  Field<Cell> tail;
};

struct Pair {
  static constexpr const char* kTypeName = "a pair of \"cells\"";
  Field<Cell> first;
  long number;
  Field<Cell> second;
};

// The references are listed in reverse order.
struct Backwards {
  static constexpr const char* kReferenceNames[] = {"last", "first"};
  Field<Cell> cells[2];
};

struct Holder {
  Field<Cell> cell;
};

template <>
struct ReferencesOf<Backwards> {
  static constexpr size_t kOffsetsBytes[] = {8, 0};
};

class Graph {
 public:
  explicit Graph(const std::string& path) {
    snapshot::ReadOptions options;
    auto read = snapshot::ReadSnapshotFile(path, options, nullptr);
    EXPECT_TRUE(read.ok()) << read.status();
    if (read.ok()) graph_ = *std::move(read);
    dominators_ = FindDominators(graph_);
    paths_ = FindShortestPaths(graph_);
  }

  std::vector<uint32_t> NodesOf(const std::string& type) const {
    std::vector<uint32_t> nodes;
    for (uint32_t n = 0; n < graph_.n_nodes(); ++n) {
      if (graph_.ClassOf(n) == type) nodes.push_back(n);
    }
    return nodes;
  }
  uint32_t Only(const std::string& type) const {
    const std::vector<uint32_t> nodes = NodesOf(type);
    EXPECT_EQ(nodes.size(), 1u) << type;
    return nodes.empty() ? 0 : nodes[0];
  }

  // Returns the path from a group of roots to the node, for example "(Globals).list.tail".
  std::string WayTo(uint32_t node) const {
    if (node == 0 || paths_.parent[node] == snapshot::kNone) return node == 0 ? "" : "none";
    if (graph_.IsSynthetic(node)) return graph_.ClassOf(node);
    return WayTo(paths_.parent[node]) + EdgeText(graph_, paths_.edge[node]);
  }

  // Returns all edges of a node in order, for example ".key (weak)".
  std::string EdgesOf(uint32_t node) const {
    std::string text;
    for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
      text += EdgeText(graph_, e) + " ";
      if ((graph_.edge_flags[e] & snapshot::kRetains) == 0) text += "(weak) ";
    }
    return text;
  }

  const snapshot::Snapshot& graph() const { return graph_; }
  const snapshot::Dominators& dominators() const { return dominators_; }

 private:
  snapshot::Snapshot graph_;
  snapshot::Dominators dominators_;
  snapshot::ShortestPaths paths_;
};

inline std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

class SnapshotTest : public ::testing::TestWithParam<const char*> {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.verify = true;
    EXPECT_TRUE(options.Parse(GetParam()).ok());
    return options;
  }

  // Leaves out the objects that stacks refer to, so that the result is exact.
  Graph Take() {
    heap_->core().scans_stacks = false;
    Graph graph = TakeWithStacks();
    heap_->core().scans_stacks = true;
    return graph;
  }
  Graph TakeWithStacks() {
    const std::string path = Path("taken.heapsnapshot");
    const absl::Status status = heap_->WriteSnapshot(path);
    EXPECT_TRUE(status.ok()) << status;
    return Graph(path);
  }

  // Runs `body` on another thread, so that this thread's stack keeps no references.
  template <typename Body>
  void OnAnotherThread(Body body) {
    const NativeRegion native;
    std::thread([this, body] {
      const Mutator mutator(*heap_);
      body();
    }).join();
  }

  static std::string Locals() {
    return "(Locals of thread " + std::to_string(allomon::internal::OwnThreadId()) + ")";
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

}  // namespace allomon::gc

#endif  // ALLOMON_TESTS_RUNTIME_SNAPSHOT_CASE_H_
