#include "tools/recording/stack_tree.h"

#include <algorithm>

namespace allomon::recording {

uint32_t StackTree::Add(uint32_t parent, uint32_t location) {
  const uint64_t key = uint64_t{parent} << 32 | location;
  const auto [place, is_new] = node_of_.try_emplace(key, static_cast<uint32_t>(nodes_.size() + 1));
  if (is_new) nodes_.push_back({parent, location, DepthOf(parent) + 1});
  return place->second;
}

std::vector<uint32_t> StackTree::StackOf(uint32_t node, uint64_t most) const {
  std::vector<uint32_t> stack;
  stack.reserve(std::min<uint64_t>(DepthOf(node), most));
  for (; node != 0 && stack.size() < most; node = nodes_[node - 1].parent) {
    stack.push_back(nodes_[node - 1].location);
  }
  return stack;
}

}  // namespace allomon::recording
