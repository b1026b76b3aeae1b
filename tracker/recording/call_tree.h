// The call stacks of a recording: a tree of frames whose roots are the outermost ones, so that
// stacks share what they have in common.
//
// Guarded by the recorder's lock.  Cost: a stack that was seen before takes one load; a new one a
// probe for each frame.
#ifndef ALLOMON_TRACKER_RECORDING_CALL_TREE_H_
#define ALLOMON_TRACKER_RECORDING_CALL_TREE_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/recording/modules.h"
#include "tracker/recording/number_array.h"
#include "tracker/recording/number_index.h"
#include "tracker/recording/records.h"
#include "tracker/recording/text.h"

namespace allomon::recording {

class CallTree {
 public:
  void Begin(SegmentSource* source, uint32_t* count, ModuleTable* modules, TextStore* texts);
  void Clear();

  static constexpr uint32_t kNoRoom = UINT32_MAX;
  // The node of the innermost frame; 0 for the empty stack; kNoRoom.
  uint32_t NodeOf(const Callstack& stack);

  // Adds `by` to addresses of code in [begin, end].  Cost: 1 ns for each node.
  void Rename(uintptr_t begin, uintptr_t end, uint64_t by);

 private:
  uint32_t Enter(const Callstack& stack);
  uint32_t ChildOf(const Node& child);
  Node FrameOf(uintptr_t address);
  bool NameOf(uintptr_t address, Node* frame);
  TextRef TextOf(const ManagedFunctionName& name);

  Records<Node, SegmentKind::kNodes> nodes_;
  NumberIndex index_;
  ModuleTable* modules_ = nullptr;
  TextStore* texts_ = nullptr;
  NumberArray node_of_stack_;     // by stack id
  NumberArray text_of_function_;  // where the text begins, plus 1; by number of a managed function
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_CALL_TREE_H_
