// Call stacks of several processes in one tree, so that those of the same frames are one.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_STACK_TREE_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_STACK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::recording {

// Nodes have numbers from 1; 0 is the empty stack.
class StackTree {
 public:
  // Makes room for so many more nodes.
  void Reserve(size_t count);

  // The stack of `parent` with a location called from it.
  uint32_t Add(uint32_t parent, uint32_t location);

  uint32_t DepthOf(uint32_t node) const { return node == 0 ? 0 : nodes_[node - 1].depth; }

  // Locations, innermost first; at most so many.
  std::vector<uint32_t> StackOf(uint32_t node, uint64_t most) const;

 private:
  struct Node {
    uint32_t parent;
    uint32_t location;
    uint32_t depth;
  };

  // Where the node is in `slots_`, or would be.
  size_t SlotOf(uint32_t parent, uint32_t location) const;

  std::vector<Node> nodes_;
  // Numbers of nodes by the hash of what they are; 0: free.  A power of two, at most half full, so
  // that a million nodes take a few cache misses each, and no allocation.
  std::vector<uint32_t> slots_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_STACK_TREE_H_
