// Compares dominators and retained sizes with the definition: u dominates v if v is not reached
// without u.
#include "tools/snapshot/dominators.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/snapshot/snapshot_text.h"
#include "tools/snapshot/paths.h"

namespace allomon::snapshot {
namespace {

// Returns the nodes that the root would reach if `without` did not exist.
std::vector<bool> Reached(const Snapshot& snapshot, uint32_t without) {
  std::vector<bool> reached(snapshot.n_nodes(), false);
  std::vector<uint32_t> pending;
  if (without != 0) pending.push_back(0), reached[0] = true;
  while (!pending.empty()) {
    const uint32_t node = pending.back();
    pending.pop_back();
    for (uint32_t e = snapshot.first_edge[node]; e < snapshot.first_edge[node + 1]; ++e) {
      const uint32_t to = snapshot.edge_to[e];
      if ((snapshot.edge_flags[e] & kRetains) == 0 || to == without || reached[to]) continue;
      reached[to] = true;
      pending.push_back(to);
    }
  }
  return reached;
}

// Returns the nodes that would die without a node, including that node.
std::vector<uint32_t> DominatedBy(const Snapshot& snapshot, uint32_t node) {
  const std::vector<bool> all = Reached(snapshot, kNone);
  const std::vector<bool> left = Reached(snapshot, node);
  std::vector<uint32_t> dominated;
  for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) {
    if (all[n] && !left[n]) dominated.push_back(n);
  }
  return dominated;
}

void ExpectAsDefined(const Snapshot& snapshot) {
  const Dominators found = FindDominators(snapshot);
  const std::vector<bool> reached = Reached(snapshot, kNone);
  std::vector<uint32_t> n_dominators(snapshot.n_nodes(), 0);
  std::vector<std::vector<uint32_t>> dominated;
  for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) {
    dominated.push_back(DominatedBy(snapshot, n));
    for (const uint32_t other : dominated[n]) ++n_dominators[other];
  }
  // The nearest dominator of a node is dominated by all its other dominators.
  std::vector<uint32_t> nearest(snapshot.n_nodes(), kNone);
  for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) {
    uint64_t bytes = 0;
    for (const uint32_t other : dominated[n]) {
      bytes += snapshot.self_bytes[other];
      if (other != n && n_dominators[other] == n_dominators[n] + 1) nearest[other] = n;
    }
    ASSERT_EQ(found.retained_bytes[n], bytes) << n;
    ASSERT_EQ(found.IsReached(n), reached[n]) << n;
  }
  ASSERT_EQ(found.dominator, nearest);
}

// For each class: the union of the nodes that its nodes dominate.
void ExpectClassesAsDefined(const Snapshot& snapshot) {
  const std::vector<uint64_t> found = RetainedByClass(snapshot, FindDominators(snapshot));
  for (uint32_t c = 0; c < snapshot.classes.size(); ++c) {
    std::vector<bool> kept(snapshot.n_nodes(), false);
    for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) {
      if (snapshot.node_class[n] != c) continue;
      for (const uint32_t other : DominatedBy(snapshot, n)) kept[other] = true;
    }
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) bytes += kept[n] ? snapshot.self_bytes[n] : 0;
    ASSERT_EQ(found[c], bytes) << snapshot.classes[c];
  }
}

// Nodes uniform, classes uniform among four; a tenth of the edges weak; mostly forward edges make
// deep graphs.
TestGraph RandomGraph(std::mt19937_64* random, uint32_t n_nodes, uint32_t n_edges, bool deep) {
  TestGraph graph;
  const auto below = [random](uint32_t end) { return static_cast<uint32_t>((*random)() % end); };
  for (uint32_t n = 0; n < n_nodes; ++n) {
    graph.nodes.push_back({std::string(1, static_cast<char>('A' + below(4))), below(1000), n == 0});
  }
  for (uint32_t e = 0; e < n_edges; ++e) {
    const uint32_t from = below(n_nodes);
    const uint32_t to = deep ? std::min(n_nodes - 1, from + below(4)) : below(n_nodes);
    const bool weak = below(10) == 0;
    graph.edges.push_back({from, to, weak ? kTestWeak : kTestElement, "w"});
  }
  return graph;
}

TEST(Dominators, RandomGraphsAgreeWithTheDefinition) {
  std::mt19937_64 random(20261123);
  for (int round = 0; round < 300; ++round) {
    const auto nodes = static_cast<uint32_t>(1 + random() % 40);
    const auto edges = static_cast<uint32_t>(random() % (3 * nodes));
    const auto snapshot = ReadText(TextOf(RandomGraph(&random, nodes, edges, round % 2 == 0)));
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    ExpectAsDefined(*snapshot);
    ExpectClassesAsDefined(*snapshot);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Dominators, TwoWaysAreDominatedByTheirFork) {
  //   0 - 1 - 2 - 4 - 5,  1 - 3 - 4
  TestGraph graph;
  for (const uint64_t bytes : {0, 1, 2, 4, 8, 16}) graph.nodes.push_back({"N", bytes});
  graph.edges = {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {5, 1}};
  const auto snapshot = ReadText(TextOf(graph));
  const Dominators found = FindDominators(*snapshot);
  EXPECT_EQ(found.dominator, (std::vector<uint32_t>{kNone, 0, 1, 1, 1, 4}));
  EXPECT_EQ(found.retained_bytes, (std::vector<uint64_t>{31, 31, 2, 4, 24, 16}));
}

// An algorithm that finds the dominators of joins step by step would take quadratic time.
TEST(Dominators, ALongListWithAnIndexIsFast) {
  constexpr uint32_t kCells = 300000;
  Snapshot graph;
  graph.classes = {"(root)", "Cell"};
  graph.class_is_synthetic = {true, false};
  // 0: the root; 1: the index; the others: cells, each held by the one before and by the index.
  const uint32_t n = kCells + 2;
  graph.node_id.assign(n, 1);
  graph.self_bytes.assign(n, 24);
  graph.node_class.assign(n, 1);
  const auto add = [&graph](uint32_t to) {
    graph.edge_flags.push_back(kRetains);
    graph.edge_to.push_back(to);
  };
  graph.first_edge = {0};
  add(2), add(1);
  for (uint32_t node = 1; node < n; ++node) {
    graph.first_edge.push_back(graph.n_edges());
    if (node == 1) {
      for (uint32_t cell = n; cell-- > 2;) add(cell);
    } else if (node + 1 < n) {
      add(node + 1);
    }
  }
  graph.first_edge.push_back(graph.n_edges());
  const Dominators found = FindDominators(graph);
  EXPECT_EQ(found.dominator[n - 1], 0u);
  EXPECT_EQ(found.retained_bytes[0], uint64_t{24} * n);
  EXPECT_EQ(found.retained_bytes[2], 24u);
}

TEST(Dominators, WeakEdgesDoNotRetain) {
  TestGraph graph;
  graph.nodes = {{"", 0, true}, {"A", 10}, {"B", 20}};
  graph.edges = {{0, 1}, {1, 2, kTestWeak, "w"}};
  const auto snapshot = ReadText(TextOf(graph));
  const Dominators found = FindDominators(*snapshot);
  EXPECT_EQ(found.retained_bytes, (std::vector<uint64_t>{10, 10, 0}));
  EXPECT_FALSE(found.IsReached(2));
}

// As in Chrome, both the key and the map have an edge to the value, but the death of either ends
// it.
TEST(Dominators, AValueOfAWeakMapIsTheKeys) {
  TestGraph graph;
  graph.nodes = {{"", 0, true}, {"WeakMap", 1}, {"Key", 2}, {"Value", 4}};
  const std::string name =
      "3 / part of key (Key @5) -> value (Value @7) pair in WeakMap (table @3)";
  graph.edges = {{0, 1}, {0, 2}, {1, 3, kTestInternal, name}, {2, 3, kTestInternal, name}};
  const auto snapshot = ReadText(TextOf(graph));
  EXPECT_EQ(FindDominators(*snapshot).dominator[3], 2u);
}

// A shortcut leads to an object that another edge holds; only shortcuts of the root are roots.
TEST(Dominators, ShortcutsHoldOnlyAtTheRoot) {
  TestGraph graph;
  graph.nodes = {{"", 0, true}, {"A", 1}, {"B", 2}};
  graph.edges = {{0, 1, kTestShortcut, "global"}, {1, 2, kTestShortcut, "s"}};
  const auto snapshot = ReadText(TextOf(graph));
  const Dominators found = FindDominators(*snapshot);
  EXPECT_TRUE(found.IsReached(1));
  EXPECT_FALSE(found.IsReached(2));
}

TEST(Paths, AreShortestAndFolded) {
  // root - A.list - Cell.tail - Cell.tail - Cell, and root - Cell (the last but one).
  TestGraph graph;
  graph.nodes = {{"", 0, true}, {"A", 1}, {"Cell", 2}, {"Cell", 2}, {"Cell", 2}};
  graph.edges = {{0, 1},
                 {1, 2, kTestProperty, "list"},
                 {2, 3, kTestProperty, "tail"},
                 {3, 4, kTestProperty, "tail"},
                 {0, 3}};
  const auto snapshot = ReadText(TextOf(graph));
  const ShortestPaths paths = FindShortestPaths(*snapshot);
  EXPECT_EQ(paths.parent, (std::vector<uint32_t>{kNone, 0, 1, 0, 3}));
  EXPECT_EQ(EdgeText(*snapshot, paths.edge[2]), ".list");
  const PathGroups groups = GroupPaths(*snapshot, paths);
  EXPECT_EQ(groups.of_node[3], groups.of_node[4]);
  EXPECT_NE(groups.of_node[2], groups.of_node[3]);
  EXPECT_TRUE(groups.groups[groups.of_node[3]].repeats);
  EXPECT_EQ(groups.groups[groups.of_node[3]].objects, 2u);
}

}  // namespace
}  // namespace allomon::snapshot
