#include "tools/leaks/reach.h"

#include <algorithm>

namespace allomon::leaks {

uint64_t Blocks::Add(uint64_t begin, uint64_t end, uint64_t block_bytes, bool are_objects) {
  const uint64_t first = marks_.size();
  if (end <= begin) return first;
  const uint64_t count = block_bytes == 0 ? 1 : (end - begin) / block_bytes;
  if (count == 0) return first;
  extents_.push_back({begin, block_bytes == 0 ? end : begin + count * block_bytes,
                      block_bytes == 0 ? end - begin : block_bytes, first, are_objects});
  marks_.resize(first + count);
  least_ = std::min(least_, begin);
  most_ = std::max(most_, end);
  return first;
}

void Blocks::Sort() {
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
}

bool Blocks::Find(uint64_t address, Block* block) const {
  if (address < least_ || address >= most_) return false;
  const auto after =
      std::upper_bound(extents_.begin(), extents_.end(), address,
                       [](uint64_t at, const Extent& extent) { return at < extent.begin; });
  if (after == extents_.begin()) return false;
  const Extent& extent = *(after - 1);
  if (address >= extent.end) return false;
  const uint64_t place = (address - extent.begin) / extent.block_bytes;
  *block = {extent.first + place, extent.begin + place * extent.block_bytes, extent.block_bytes,
            extent.are_objects};
  return true;
}

bool Blocks::Reach(uint64_t address, Mark mark, Block* block) {
  if (!Find(address, block)) return false;
  Mark& known = marks_[block->number];
  if (known >= mark) return false;
  known = mark;
  return true;
}

// Two words that follow each other are the links of an object, or the ends of a list.  They have
// flags in their lowest bits, and the object to which one leads has a link back to the two.
bool Marker::IsCollectorLink(uint64_t word, uint64_t place, bool is_of_object) const {
  constexpr uint64_t kFlags = 7, kLinkBytes = 8;
  const uint64_t target = word & ~kFlags;
  uint64_t links[2] = {};
  if (target == 0 || !snapshot_.Read(target, &links)) return false;
  const bool is_link = (links[1] & ~kFlags) == place || (links[0] & ~kFlags) == place - kLinkBytes;
  Blocks::Block block;
  return is_link && (is_of_object || (blocks_.Find(target, &block) && block.is_object));
}

void Marker::AddWordsOfObject(const Blocks::Block& block) {
  const pages::PythonTypes::References references =
      types_->ReferencesOf(block.begin, block.size_bytes);
  Blocks::Block data;
  snapshot_.VisitWords(block.begin, block.begin + references.used_bytes,
                       [&](uint64_t word, uint64_t place) {
                         if (place == references.weak_place || place == references.items_place) {
                           return;
                         }
                         if (references.are_data) {
                           ReachAlone(word, place, &data);
                         } else {
                           AddWord(word, place, block.is_object);
                         }
                       });
  Blocks::Block items;
  if (references.items_place == 0 || !blocks_.Find(references.items, &items)) return;
  ReachAlone(references.items, references.items_place, &data);
  const uint64_t room_bytes = items.begin + items.size_bytes - references.items;
  const uint64_t end = std::min(room_bytes, references.items_end);
  AddWords(references.items + std::min(end, references.items_begin), references.items + end);
}

void Marker::Finish() {
  for (; !work_.empty(); work_.pop_front()) {
    const Blocks::Block block = work_.front();
    block_bytes_ += block.size_bytes;
    if (types_ != nullptr) {
      AddWordsOfObject(block);
    } else {
      AddWords(block.begin, block.begin + block.size_bytes);
    }
  }
}

namespace {

// Goes from the lost block through all that have no such mark yet.  Returns false if it has.
bool Flood(const Snapshot& snapshot, const Blocks::Block& from, Blocks::Mark mark, Blocks* blocks) {
  Blocks::Block block;
  if (!blocks->Reach(from.begin, mark, &block)) return false;
  std::vector<Blocks::Block> work = {block};
  while (!work.empty()) {
    block = work.back();
    work.pop_back();
    snapshot.VisitWords(block.begin, block.begin + block.size_bytes, [&](uint64_t word, uint64_t) {
      Blocks::Block next;
      if (blocks->Reach(word, mark, &next)) work.push_back(next);
    });
  }
  return true;
}

}  // namespace

// The first pass finds blocks to which no earlier one of these leads, and which lead to all others.
// The second one, from the last to the first, finds those to which no later one leads.
std::vector<bool> FindDirectlyLost(const Snapshot& snapshot, const std::vector<Blocks::Block>& lost,
                                   Blocks* blocks) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (Flood(snapshot, lost[i], Blocks::Mark::kLost, blocks)) candidates.push_back(i);
  }
  std::vector<bool> is_direct(lost.size(), false);
  for (auto i = candidates.rbegin(); i != candidates.rend(); ++i) {
    is_direct[*i] = Flood(snapshot, lost[*i], Blocks::Mark::kLostAgain, blocks);
  }
  return is_direct;
}

}  // namespace allomon::leaks
