// Heap snapshots: accepted input is a graph whose indices are in range, and which can be queried
// for retainers.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <random>

#include "runtime/heap.h"
#include "tests/fuzz/target.h"
#include "tests/snapshot/snapshot_text.h"
#include "tools/snapshot/dominators.h"
#include "tools/snapshot/paths.h"
#include "tools/snapshot/read_snapshot.h"

namespace allomon::fuzz {
namespace {

using snapshot::Snapshot;

// Reads in pieces of odd sizes, so that numbers and strings cross their boundaries.
absl::StatusOr<Snapshot> Read(std::string_view text, bool edges) {
  snapshot::JsonScanner scanner(
      [rest = text](char* to, size_t size) mutable {
        const size_t part = std::min({size, rest.size(), size_t{61}});
        memcpy(to, rest.data(), part);
        rest.remove_prefix(part);
        return static_cast<int64_t>(part);
      },
      nullptr);
  snapshot::ReadOptions options;
  options.edges = edges;
  options.size_bytes = text.size();
  return snapshot::ReadSnapshot(&scanner, options);
}

void CheckGraph(const Snapshot& graph) {
  const uint32_t n_nodes = graph.n_nodes();
  const size_t n_strings = graph.string_begin.size() - 1;
  for (uint32_t node = 0; node < n_nodes; ++node) {
    Require(graph.node_name[node] < n_strings, "a node's name is a string");
    Require(graph.node_class[node] < graph.classes.size(), "a node's class is one");
    graph.String(graph.node_name[node]);
  }
  for (uint32_t edge = 0; edge < graph.n_edges(); ++edge) {
    Require(graph.edge_to[edge] < n_nodes, "an edge leads to a node");
    Require((graph.edge_flags[edge] & snapshot::kIndexed) != 0 || graph.edge_name[edge] < n_strings,
            "an edge's name is a string");
    snapshot::EdgeText(graph, edge);
  }
}

void CheckDominators(const Snapshot& graph) {
  const snapshot::Dominators dominators = snapshot::FindDominators(graph);
  for (uint32_t node = 1; node < graph.n_nodes(); ++node) {
    Require(dominators.dominator[node] == snapshot::kNone ||
                dominators.dominator[node] < graph.n_nodes(),
            "a dominator is a node");
  }
  snapshot::RetainedByClass(graph, dominators);
  const snapshot::ShortestPaths paths = snapshot::FindShortestPaths(graph);
  Require(paths.by_length.size() == dominators.preorder.size(), "paths lead to what is reached");
  const snapshot::PathGroups groups = snapshot::GroupPaths(graph, paths);
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    const uint32_t parent = groups.groups[i].parent;
    Require(parent == snapshot::kNone || parent < i, "parents come first");
  }
}

bool CheckSnapshot(std::string_view text) {
  const auto graph = Read(text, true);
  const auto without_edges = Read(text, false);
  Require(graph.ok() == without_edges.ok(), "edges are checked, kept or not");
  if (!graph.ok()) {
    RequireOneLine(graph.status().message());
    return false;
  }
  CheckGraph(*graph);
  CheckDominators(*graph);
  return true;
}

// Replaces some digits, so that most counts stay right: a snapshot with a wrong count is refused
// before its graph is looked at.
std::string WithOtherDigits(std::string_view input, std::mt19937* random) {
  std::string text(input);
  for (unsigned left = 1 + (*random)() % 4; left > 0 && !text.empty(); --left) {
    const auto at = std::find_if(text.begin() + (*random)() % text.size(), text.end(),
                                 [](unsigned char c) { return isdigit(c) != 0; });
    if (at != text.end()) *at = static_cast<char>('0' + (*random)() % 10);
  }
  return text;
}

std::string RandomGraph(std::mt19937* random) {
  snapshot::TestGraph graph;
  const uint32_t nodes = 1 + (*random)() % 24;
  for (uint32_t node = 0; node < nodes; ++node) {
    graph.nodes.push_back({std::string(1, "abc("[(*random)() % 4]), (*random)() % 100,
                           node == 0 || (*random)() % 8 == 0});
  }
  for (uint32_t left = (*random)() % (2 * nodes); left > 0; --left) {
    const auto type = static_cast<snapshot::TestEdgeType>((*random)() % 5);
    const uint32_t from = (*random)() % nodes, to = (*random)() % nodes;
    graph.edges.push_back({from, to, type, type == snapshot::kTestElement ? "" : "e"});
  }
  return snapshot::TextOf(graph);
}

struct Cell {
  static constexpr const char* kTypeName = "cell \"of\" \\ a\nlist";
  static constexpr const char* kReferenceNames[] = {"tail"};
  long head;
  gc::Field<Cell> tail;
};

// Uses the managed heap's own writer.
std::string Written() {
  auto heap = gc::Heap::Create().value();
  const gc::Mutator mutator(*heap);
  gc::Global<Cell> list("list");
  for (long i = 0; i < 5; ++i) list = gc::make<Cell>(i, list.get());
  char path[] = "/tmp/allomon-seed-XXXXXX";
  close(mkstemp(path));
  Require(heap->WriteSnapshot(path).ok(), "a snapshot is written");
  std::string text;
  if (FILE* file = fopen(path, "r")) {
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;) text.append(piece, n);
    fclose(file);
  }
  unlink(path);
  return text;
}

}  // namespace

std::vector<std::string> Seeds() {
  using namespace snapshot;
  const TestGraph graph = {
      {{"", 0, true}, {"a", 10}, {"b", 20}, {"(string)", 3}},
      {{0, 1}, {0, 2, kTestProperty, "p"}, {1, 3}, {2, 3, kTestWeak, "w"}, {3, 1}}};
  const TestGraph root = {{{"", 0, true}}, {}};
  return {snapshot::TextOf(graph), snapshot::TextOf(root), Written()};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckSnapshot(TextOf(data, size)));
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace allomon::fuzz;
  std::mt19937 random(seed);
  switch (random() % 4) {
    case 0:
      return PutBack(RandomGraph(&random), data, max_size);
    case 1:
      return PutBack(WithOtherDigits(TextOf(data, size), &random), data, max_size);
    default:
      return LLVMFuzzerMutate(data, size, max_size);
  }
}
