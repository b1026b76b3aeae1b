// Call stacks of several processes in one tree, so that those of the same frames are one.
#ifndef ALLOMON_TOOLS_RECORDING_STACK_TREE_H_
#define ALLOMON_TOOLS_RECORDING_STACK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace allomon::recording {

// Nodes have numbers from 1; 0 is the empty stack.
class StackTree {
 public:
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
  struct Hash {
    size_t operator()(uint64_t key) const { return key * 0x9e3779b97f4a7c15u >> 7; }
  };

  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t, Hash> node_of_;  // by parent and location
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_RECORDING_STACK_TREE_H_
