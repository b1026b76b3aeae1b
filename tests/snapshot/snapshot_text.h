// Heap snapshots that tests make by hand.
#ifndef ALLOMON_TESTS_SNAPSHOT_SNAPSHOT_TEXT_H_
#define ALLOMON_TESTS_SNAPSHOT_SNAPSHOT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/snapshot/snapshot.h"

namespace allomon::snapshot {

// Types of edges, as the text numbers them.
enum TestEdgeType { kTestElement, kTestProperty, kTestWeak, kTestShortcut, kTestInternal };

struct TestEdge {
  uint32_t from, to;
  TestEdgeType type = kTestElement;
  std::string name = {};  // name of an edge that is not an element
};

struct TestGraph {
  struct Node {
    std::string name;
    uint64_t self_bytes;
    bool synthetic = false;
  };
  std::vector<Node> nodes;
  std::vector<TestEdge> edges;  // in any order
};

// Ids are 1, 3, 5, ...
std::string TextOf(const TestGraph& graph);

absl::StatusOr<Snapshot> ReadText(const std::string& text, bool edges = true);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TESTS_SNAPSHOT_SNAPSHOT_TEXT_H_
