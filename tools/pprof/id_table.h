#ifndef ALLOMON_TOOLS_PPROF_ID_TABLE_H_
#define ALLOMON_TOOLS_PPROF_ID_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// Maps the ids of a file to indices.  An id may be any number but 0; most files count from 1.
class IdTable {
 public:
  void Add(uint64_t id) { places_.emplace_back(id, static_cast<uint32_t>(places_.size())); }

  // Callers call it once, before the first Find.  False if an id is 0, or if two entries have the
  // same.
  bool Finish() {
    std::sort(places_.begin(), places_.end());
    const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
    return (places_.empty() || places_.front().first != 0) &&
           std::adjacent_find(places_.begin(), places_.end(), is_same) == places_.end();
  }

  // Returns the index of the id, in the order of Add, from 0; kNone if the file has no such id.
  uint32_t Find(uint64_t id) const {
    if (id - 1 < places_.size() && places_[id - 1].first == id) return places_[id - 1].second;
    const auto found = std::lower_bound(places_.begin(), places_.end(), std::pair{id, 0u});
    return found != places_.end() && found->first == id ? found->second : heap::kNone;
  }

  size_t size() const { return places_.size(); }

  // Pairs of id and index, by ascending id.
  const std::vector<std::pair<uint64_t, uint32_t>>& places() const { return places_; }

 private:
  std::vector<std::pair<uint64_t, uint32_t>> places_;
};

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_ID_TABLE_H_
