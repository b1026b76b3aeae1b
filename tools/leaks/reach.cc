#include "tools/leaks/reach.h"

#include <algorithm>

namespace allomon::leaks {

uint64_t Blocks::Add(uint64_t begin, uint64_t end, uint64_t block_bytes) {
  const uint64_t first = marks_.size();
  if (end <= begin) return first;
  const uint64_t count = block_bytes == 0 ? 1 : (end - begin) / block_bytes;
  if (count == 0) return first;
  extents_.push_back({begin, block_bytes == 0 ? end : begin + count * block_bytes,
                      block_bytes == 0 ? end - begin : block_bytes, first});
  marks_.resize(first + count);
  least_ = std::min(least_, begin);
  most_ = std::max(most_, end);
  return first;
}

void Blocks::Sort() {
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
}

bool Blocks::Reach(uint64_t address, Block* block) {
  if (address < least_ || address >= most_) return false;
  const auto after =
      std::upper_bound(extents_.begin(), extents_.end(), address,
                       [](uint64_t at, const Extent& extent) { return at < extent.begin; });
  if (after == extents_.begin()) return false;
  const Extent& extent = *(after - 1);
  if (address >= extent.end) return false;
  const uint64_t place = (address - extent.begin) / extent.block_bytes;
  uint8_t& mark = marks_[extent.first + place];
  if (mark != 0) return false;
  mark = 1;
  *block = {extent.first + place, extent.begin + place * extent.block_bytes, extent.block_bytes};
  return true;
}

void Marker::Finish() {
  while (!work_.empty()) {
    const Blocks::Block block = work_.back();
    work_.pop_back();
    block_bytes_ += block.size_bytes;
    snapshot_.VisitWords(block.begin, block.begin + block.size_bytes,
                         [this](uint64_t word) { AddWord(word); });
  }
}

}  // namespace allomon::leaks
