// Call stacks of several processes in one tree, in which stacks of the same frames are one node.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_STACK_TREE_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_STACK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::recording {

// Nodes have numbers from 1; 0 is the empty stack.
class StackTree {
 public:
  // Makes room for `count` more nodes.
  void Reserve(size_t count);

  // Returns the stack that extends `parent` by a location called from it.
  uint32_t Add(uint32_t parent, uint32_t location);

  uint32_t DepthOf(uint32_t node) const { return node == 0 ? 0 : nodes_[node - 1].depth; }

  // Returns the locations of a stack, innermost first; at most `most`.
  std::vector<uint32_t> StackOf(uint32_t node, uint64_t most) const;

 private:
  struct Node {
    uint32_t parent;
    uint32_t location;
    uint32_t depth;
  };

  // Returns the slot that holds the node, or the free one where it belongs.
  size_t SlotOf(uint32_t parent, uint32_t location) const;

  std::vector<Node> nodes_;
  // Numbers of nodes in a hash table by parent and location; 0 marks a free slot.  The size is a
  // power of two, and the table is at most half full, so that a million nodes take a few cache
  // misses each, and no allocation.
  std::vector<uint32_t> slots_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_STACK_TREE_H_
