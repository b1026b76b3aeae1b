#include "tools/load/recording/stack_tree.h"

#include <algorithm>

#include "tracker/base/check.h"

namespace allomon::recording {
namespace {

// Takes the middle of a product, because it depends on all bits of both factors.
uint64_t HashOf(uint32_t parent, uint32_t location) {
  const uint64_t key = uint64_t{parent} << 32 | location;
  return (key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 24;
}

}  // namespace

void StackTree::Reserve(size_t count) {
  size_t slots = 64;
  while (slots < 2 * (nodes_.size() + count)) slots *= 2;
  if (slots <= slots_.size()) return;
  nodes_.reserve(nodes_.size() + count);
  slots_.assign(slots, 0);
  ALLOMON_DCHECK_EQ("inv.heap.room", slots & (slots - 1), size_t{0});
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    slots_[SlotOf(nodes_[i].parent, nodes_[i].location)] = i + 1;
  }
}

size_t StackTree::SlotOf(uint32_t parent, uint32_t location) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = HashOf(parent, location) & mask;; slot = (slot + 1) & mask) {
    const uint32_t number = slots_[slot];
    if (number == 0) return slot;
    const Node& node = nodes_[number - 1];
    if (node.parent == parent && node.location == location) return slot;
  }
}

uint32_t StackTree::Add(uint32_t parent, uint32_t location) {
  if (2 * (nodes_.size() + 1) > slots_.size()) Reserve(nodes_.size() + 1);
  uint32_t& number = slots_[SlotOf(parent, location)];
  if (number != 0) return number;
  ALLOMON_DCHECK_LE("inv.load.tree", parent, nodes_.size());
  ALLOMON_DCHECK_LE("inv.heap.room", 2 * (nodes_.size() + 1), slots_.size());
  nodes_.push_back({parent, location, DepthOf(parent) + 1});
  return number = static_cast<uint32_t>(nodes_.size());
}

std::vector<uint32_t> StackTree::StackOf(uint32_t node, uint64_t most) const {
  std::vector<uint32_t> stack;
  stack.reserve(std::min<uint64_t>(DepthOf(node), most));
  for (; node != 0 && stack.size() < most; node = nodes_[node - 1].parent) {
    ALLOMON_DCHECK_LE("inv.load.tree", node, nodes_.size());
    ALLOMON_DCHECK_LT("inv.load.tree", nodes_[node - 1].parent, node);
    stack.push_back(nodes_[node - 1].location);
  }
  return stack;
}

}  // namespace allomon::recording
