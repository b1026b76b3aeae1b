// The part of a search that knows CPython: its pools, free lists, stacks and modules.
#include <algorithm>
#include <string>

#include "tools/leaks/search.h"

namespace allomon::leaks {

using explain::Area;
using explain::Mapping;
using explain::Use;

// A free list is an array of objects of one type in the interpreter's own data.  A place in it
// keeps the object that was taken from there last.
void Search::AddFreeListsOf(const Mapping& mapping) {
  constexpr uint64_t kLeastWords = 8;
  std::string type;
  uint64_t begin = mapping.begin;
  const auto end_run = [&](uint64_t end) {
    if (!type.empty() && end - begin >= kLeastWords * sizeof(uint64_t)) {
      python_.push_back({begin, end, Use::kPython, 0, 0, 0, 0});
    }
  };
  snapshot_.VisitWords(mapping.begin, mapping.end, [&](uint64_t word, uint64_t place) {
    Blocks::Block block;
    const bool is_block = blocks_.Find(word, &block);
    const std::string found =
        is_block ? python_types_.OfPerhapsFreed(block.begin, block.size_bytes) : "";
    if (found == type) return;
    end_run(place);
    type = found;
    begin = place;
  });
  end_run(mapping.end);
}

// Areas are sorted and do not overlap.
bool Search::IsInArea(uint64_t address) const {
  const auto after =
      std::upper_bound(areas_.begin(), areas_.end(), address,
                       [](uint64_t at, const Area& area) { return at < area.begin; });
  return after != areas_.begin() && address < (after - 1)->end;
}

// Adds the stacks of frames that CPython keeps beside that of the machine since 3.11.  Frames that
// have ended are still in them.  A stack begins with the one before it, its size and its top.
void Search::AddPythonStacksOf(const Mapping& mapping) {
  constexpr uint64_t kLeastBytes = uint64_t{16} << 10;
  const uint64_t page_bytes = process_.page_bytes();
  for (uint64_t at = mapping.begin; at + kLeastBytes <= mapping.end; at += page_bytes) {
    uint64_t head[3] = {};
    if (!snapshot_.Read(at, &head)) continue;
    const auto [before, size_bytes, top] = head;
    const bool is_size = size_bytes >= kLeastBytes && (size_bytes & (size_bytes - 1)) == 0;
    if (!is_size || size_bytes > mapping.end - at || top > size_bytes || before % page_bytes != 0 ||
        IsInArea(at)) {
      continue;
    }
    python_stacks_.push_back({at, at + size_bytes, Use::kPython, 0, 0, 0, 0});
    at += size_bytes - page_bytes;
  }
}

// The variables of modules are the first roots: no other way says as much.
void Search::MarkFromModules(const std::vector<explain::PythonPool>& pools) {
  // A module is 72 to 96 bytes with the links of the collector, which come first.
  constexpr uint64_t kDictOffset = 16 + 16, kLeastBytes = 64, kMostBytes = 128;
  const auto add = [this](uint64_t module) {
    marker_.AddRoots(module + kDictOffset, module + kDictOffset + sizeof(uint64_t));
  };
  for (const explain::PythonPool& pool : pools) {
    if (pool.block_bytes < kLeastBytes || pool.block_bytes > kMostBytes) continue;
    for (uint64_t at = pool.first_block; at + pool.block_bytes <= pool.blocks_end;
         at += pool.block_bytes) {
      if (python_types_.Of(at, pool.block_bytes) != "module") continue;
      add(at);
    }
  }
  for (const SampledBlock& sampled : sampled_) {
    const Blocks::Block& block = sampled.block;
    if (python_types_.Of(block.begin, block.size_bytes) == "module") add(block.begin);
  }
  marker_.Finish();
}

// Call after the blocks have been sorted.
void Search::AddPythonAreas(const std::vector<explain::PythonPool>& pools) {
  if (pools.empty()) return;
  for (const explain::PythonPool& pool : pools) {
    if (python_.empty() || python_.back().end != pool.begin) {
      python_.push_back({pool.begin, 0, Use::kPython, 0, 0, 0, 0});
    }
    python_.back().end = pool.end;
  }
  for (const Mapping& mapping : mappings_) {
    const bool is_data = mapping.is_writable && mapping.inode != 0;
    if (is_data && explain::IsPython(mapping.name)) AddFreeListsOf(mapping);
    const bool is_anonymous = mapping.is_writable && !mapping.is_shared && mapping.inode == 0;
    if (is_anonymous && mapping.name.empty()) AddPythonStacksOf(mapping);
  }
  for (const auto& added : {&python_, &python_stacks_}) {
    areas_.insert(areas_.end(), added->begin(), added->end());
  }
  explain::MakeDisjoint(&areas_);
  marker_.TellObjects(&python_types_);
  MarkFromModules(pools);
}

}  // namespace allomon::leaks
