// The facts about a sampled block that a tracker gets.
#ifndef ALLOMON_TRACKER_ALLOCATION_H_
#define ALLOMON_TRACKER_ALLOCATION_H_

#include <cstddef>
#include <cstdint>

#include "tracker/label_set.h"

namespace allomon {

// The origin of a block.  The first three are those of OCaml's Gc.Memprof; kMalloc is ours.
enum class AllocationSource : uint8_t {
  kNormal,   // a block of the managed heap
  kMarshal,  // a managed block read by unmarshalling
  kCustom,   // out-of-heap bytes that their owner reported; no header word is counted
  kMalloc,   // malloc, operator new and their kin
};

// The call stack at the allocation: return addresses, innermost first; frame 0 is the call that
// allocated.  A view of interned memory: copy it freely, it is valid until the process ends, and
// equal stacks have equal ids.  (When code is unloaded its addresses are replaced in place by
// others that ProcessSymbols knows.  So resolve the stack, not an earlier copy of its addresses.)
class Callstack {
 public:
  Callstack() = default;
  Callstack(uint32_t id, const uintptr_t* frames, size_t depth, bool cut)
      : frames_(frames), depth_(depth), id_(id), cut_(cut) {}

  const uintptr_t* begin() const { return frames_; }
  const uintptr_t* end() const { return frames_ + depth_; }
  size_t size() const { return depth_; }
  bool empty() const { return depth_ == 0; }
  uintptr_t operator[](size_t i) const { return frames_[i]; }

  // Whether outer frames were left out because of StartOptions::callstack_size.
  bool cut() const { return cut_; }

  // Dense, from 1; 0 for the empty stack.
  uint32_t id() const { return id_; }

 private:
  const uintptr_t* frames_ = nullptr;
  size_t depth_ = 0;
  uint32_t id_ = 0;
  bool cut_ = false;
};

struct Allocation {
  // The number of the block's words that were hit, the header word included; at least 1.
  uint64_t n_samples = 0;
  // Size of the block without header: as requested, and rounded up to words of 8 bytes.
  uint64_t size_words = 0;
  uint64_t size_bytes = 0;
  AllocationSource source = AllocationSource::kMalloc;
  bool is_mapped = false;  // of kCustom: the program mapped it itself (mapped_memory.h)
  // The tracker's rate when the block was sampled; estimates must divide by it.
  double rate = 0;
  Callstack callstack;
  LabelSet labels;  // set at that moment on the allocating thread
  // The name of a managed block's type: constant, with one address for each type.  nullptr for all
  // other blocks.
  const char* type_name = nullptr;
  // The block's address, which lasts until its dealloc callback.  nullptr for managed blocks, which
  // move, for bytes outside of heaps, where no tracker follows the block, and for trackers of a
  // program into which the library is preloaded.
  const void* address = nullptr;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_ALLOCATION_H_
