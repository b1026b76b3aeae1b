// The call stacks of a recording: a tree of frames with the outermost frames as roots, so that
// stacks share their common frames.
//
// Known frames are found without a lock; each new frame takes the recorder's lock.  Cost: one probe
// for each frame, and one query to the loader for each new frame.  Stacks with a known row are
// never looked up here.
#ifndef ALLOMON_TRACKER_RECORDING_CALL_TREE_H_
#define ALLOMON_TRACKER_RECORDING_CALL_TREE_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/core/type_names.h"
#include "tracker/recording/missing.h"
#include "tracker/recording/modules.h"
#include "tracker/recording/records.h"
#include "tracker/recording/text.h"

namespace allomon::recording {

class CallTree {
 public:
  void Begin(SegmentSource* source, WrittenField<uint32_t> count, ModuleTable* modules,
             TextStore* texts);
  void Clear();

  static constexpr uint32_t kNoRoom = UINT32_MAX;
  // Returns the node of the innermost frame; 0 for the empty stack; kNoRoom.  Callers do not hold
  // the lock.  *missing counts names and modules for which there was no room.
  uint32_t NodeOf(const Callstack& stack, SegmentFile* file, Missing* missing);

  // Returns the node that has the type's name, below `parent`; `parent` itself if there is no room
  // for the name, which *missing counts; kNoRoom.  Callers do not hold the lock.
  uint32_t TypeNodeOf(uint32_t parent, internal::TypeNameId type, SegmentFile* file,
                      Missing* missing);

  // Adds `by` to addresses of code in [begin, end], in the nodes that there are.  Not under the
  // lock, which it takes for a thousand nodes at a time.  Cost: 1 ns for each node.
  void Rename(const ModuleTable::Gone& gone);

  // Links of the index.
  std::atomic<uint32_t>& Next(uint32_t node) const { return own_.At(node).next; }
  uint64_t HashOf(uint32_t node) const {
    const Own& own = own_.At(node);
    return HashOf(own.Address(), own.rest);
  }

 private:
  struct Own {
    // The address is stored in two halves.  Rename() may change them while another thread compares;
    // that thread then takes the lock.
    std::atomic<uint32_t> address_low;
    std::atomic<uint32_t> address_high;
    uint32_t rest;  // parent, kind << 26, cut << 28
    std::atomic<uint32_t> next;

    uint64_t Address() const {
      return uint64_t{address_high.load(std::memory_order_relaxed)} << 32 |
             address_low.load(std::memory_order_relaxed);
    }
    void SetAddress(uint64_t address) {
      address_low.store(static_cast<uint32_t>(address), std::memory_order_relaxed);
      address_high.store(static_cast<uint32_t>(address >> 32), std::memory_order_relaxed);
    }
  };
  static_assert(sizeof(Own) == 16);

  static uint64_t HashOf(uint64_t address, uint32_t rest) { return Mix(address, rest); }
  static uint32_t RestOf(const Node& node) {
    return node.parent | uint32_t{node.kind} << 26 | uint32_t{node.cut} << 28;
  }

  uint32_t Find(const Node& node) const {
    const uint32_t rest = RestOf(node);
    return index_.Find(HashOf(node.address, rest), *this, [&](uint32_t number) {
      const Own& own = own_.At(number);
      return own.rest == rest && own.Address() == node.address;
    });
  }
  uint32_t AddSlow(const Node& raw, SegmentFile* file, Missing* missing);
  uint32_t AddLocked(const Node& child) ALLOMON_REQUIRES(recorder_lock);
  Node FrameOf(const Node& raw, SegmentFile* file, Missing* missing);
  bool NameOf(uintptr_t address, SegmentFile* file, Missing* missing, Node* frame);
  TextRef TextOf(const ManagedFunctionName& name, SegmentFile* file);
  TextRef TextOfType(internal::TypeNameId type, SegmentFile* file);

  Records<Node, SegmentKind::kNodes> nodes_;
  OwnArray<Own> own_;
  ChainIndex index_;
  ModuleTable* modules_ = nullptr;
  TextStore* texts_ = nullptr;
  OwnArray<uint32_t> text_of_function_;  // where the text begins, plus 1; by number of a function
  OwnArray<uint32_t> text_of_type_;      // likewise, by TypeNameId
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_CALL_TREE_H_
