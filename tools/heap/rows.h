// Sums amounts by function, by line, and along call stacks.
//
// A Value is the type of the sums: a default constructed one is zero, and Add() adds another one.
// `values` has one element for each of Stacks::stacks.
#ifndef ALLOMON_TOOLS_HEAP_ROWS_H_
#define ALLOMON_TOOLS_HEAP_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/heap/pair_table.h"
#include "tools/heap/stacks.h"
#include "tracker/base/check.h"

namespace allomon::heap {

template <typename Value>
struct Row {
  uint32_t frame = 0;           // one frame in Stacks::frames with the row's name (and line)
  Value self;                   // charged to the row itself
  Value total;                  // charged to the row and to its callees; recursion counts once
  uint32_t best_stack = kNone;  // index in `stacks` of the heaviest stack that is charged to the
                                // row
  double best_weight = 0;
};

enum class RowKey { kFunction, kLine };

// Returns one row for each function (or line) in any stack, in the order of their numbers.
template <typename Value, typename Weight>
std::vector<Row<Value>> RowsOf(const Stacks& stacks, const std::vector<Value>& values, RowKey key,
                               const Weight& weight) {
  ALLOMON_DCHECK_EQ("inv.heap.rows", stacks.stacks.size(), values.size());
  const bool by_line = key == RowKey::kLine;
  std::vector<Row<Value>> rows(by_line ? stacks.frames.size() : stacks.names.size());
  std::vector<uint32_t> last_stack(rows.size(), kNone);
  for (uint32_t i = 0; i < stacks.stacks.size(); ++i) {
    const Stack& stack = stacks.stacks[i];
    for (uint64_t cell = stack.begin; cell < stack.end; ++cell) {
      const uint32_t frame = stacks.cells[cell];
      const uint32_t number = by_line ? frame : stacks.frames[frame].name;
      ALLOMON_DCHECK_LT("inv.heap.rows", number, rows.size());
      Row<Value>& row = rows[number];
      if (cell == stack.begin) {
        row.self.Add(values[i]);
        if (row.best_stack == kNone || weight(values[i]) > row.best_weight) {
          row.best_weight = weight(values[i]);
          row.best_stack = i;
          row.frame = frame;
        }
      }
      if (last_stack[number] == i) continue;
      if (last_stack[number] == kNone) row.frame = frame;
      last_stack[number] = i;
      row.total.Add(values[i]);
    }
  }
  return rows;
}

enum class Direction { kCallees, kCallers };

// Sums along stacks.  Node 0 is the root, with the sum of all.  Parents come before their children.
template <typename Value>
struct Tree {
  struct Node {
    uint32_t parent = 0;
    uint32_t frame = 0;  // index in Stacks::frames; nodes are by name, and have the first line
                         // found
    uint32_t depth = 0;  // 0 for the root
    Value self;          // sum of the stacks that end here
    Value total;
  };
  std::vector<Node> nodes;
};

// kCallees: from the outermost frame to the one that is charged.  kCallers: from the one that is
// charged to its callers.  Stacks are cut when a tree has kMostNodes, which only a hostile profile
// reaches.
inline constexpr size_t kMostNodes = size_t{1} << 22;

template <typename Value>
Tree<Value> TreeOf(const Stacks& stacks, const std::vector<Value>& values, Direction direction) {
  constexpr uint32_t kMostDepth = 100000;
  ALLOMON_DCHECK_EQ("inv.heap.rows", stacks.stacks.size(), values.size());
  Tree<Value> tree;
  tree.nodes.emplace_back();
  PairTable children;
  for (size_t i = 0; i < stacks.stacks.size(); ++i) {
    const Stack& stack = stacks.stacks[i];
    const uint64_t length = stack.end - stack.begin;
    uint32_t at = 0;
    for (uint64_t step = 0; step < length && step < kMostDepth; ++step) {
      const uint64_t cell =
          direction == Direction::kCallers ? stack.begin + step : stack.end - 1 - step;
      const uint32_t frame = stacks.cells[cell];
      const auto next = static_cast<uint32_t>(tree.nodes.size());
      if (next >= kMostNodes) break;
      const uint32_t child = children.FindOrAdd(at, stacks.frames[frame].name, next);
      if (child == next) {
        tree.nodes.emplace_back();
        tree.nodes.back().parent = at;
        tree.nodes.back().frame = frame;
        tree.nodes.back().depth = tree.nodes[at].depth + 1;
      }
      ALLOMON_DCHECK_LT("inv.heap.tree", at, child);
      ALLOMON_DCHECK_EQ("inv.heap.tree", tree.nodes[child].depth, tree.nodes[at].depth + 1);
      at = child;
    }
    tree.nodes[at].self.Add(values[i]);
  }
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    auto& node = tree.nodes[i];
    node.total.Add(node.self);
    if (i > 0) tree.nodes[node.parent].total.Add(node.total);
  }
  return tree;
}

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_ROWS_H_
