// The scopes of labels that have ended in a process, and the live blocks that belong to them.
//
// Plain functions of the recording's values, which have been repaired (recording_records.h).
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_ENDED_SCOPES_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_ENDED_SCOPES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {

class EndedScopes {
 public:
  // `process` must outlive this, which has views of its texts.
  explicit EndedScopes(const Process& process);

  bool empty() const { return of_thread_.empty() && ends_.empty(); }

  // Adds a cell of `amount` to `outlived` for each label of the sample that `block` has outlived:
  // its scope has ended.  The sample is that of the block's row.  Cost: the depth of the thread's
  // scopes.
  void AddCells(const LiveBlock& block, const heap::Amount& amount, heap::Sample* sample) const;

 private:
  struct Node {
    uint64_t begin_nanos;
    uint64_t end_nanos;  // UINT64_MAX: open
    size_t outer;        // index of the scope around it in the same list, or kNoNode
    std::string_view key;
    std::string_view value;
  };

  static void Nest(std::vector<Node>* nodes);
  // Calls visit(node) for the ended scopes of the block's thread that it was born in, from the
  // innermost on.
  template <typename Visit>
  void VisitScopes(const LiveBlock& block, Visit visit) const;
  heap::AgeCell TimeSince(uint64_t end_nanos, const heap::Amount& amount) const;

  const uint64_t now_nanos_;
  // Scopes of a thread nest; those of each are in the order of their begin.
  std::unordered_map<uint32_t, std::vector<Node>> of_thread_;
  // Labels that were ended for all threads, as key, zero, value.
  std::unordered_map<std::string, uint64_t> ends_;
};

// Sorts the cells, and merges cells of one label and time.
void Merge(std::vector<heap::OutlivedCell>* cells);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_ENDED_SCOPES_H_
