// Settings of a heap, in code or as text.
#ifndef ALLOMON_RUNTIME_HEAP_OPTIONS_H_
#define ALLOMON_RUNTIME_HEAP_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"

namespace allomon::gc {

class HeapListener;

struct HeapOptions {
  // Bytes of each thread's nursery; rounded up to 64 KiB.  Larger ones promote less and
  // hold more memory: this much per thread.
  size_t nursery_bytes = size_t{2} << 20;

  // A major collection begins when the bytes that have become old since the last one exceed this
  // share of those that one left alive, in percent...
  uint32_t growth_percent = 100;
  // ...but not before this many bytes.
  size_t growth_floor_bytes = size_t{1} << 20;

  // Most bytes of the old space: chunks of 1 MiB and large objects, also those kept free
  // so that a minor collection never fails (about 1.4 times all nurseries).  0: no limit;
  // else at least 1 MiB.  Where it leaves too little for a thread's nursery, attaching that
  // thread throws std::bad_alloc.
  size_t limit_bytes = 0;

  // Walks the whole heap after every collection and aborts on the first broken
  // invariant.  Cost when on: several times the collection.
  bool verify = false;

  // Collects at every n-th allocation (0: never), moves every young object to another
  // address and takes access from the old one, so that a pointer that was kept across an
  // allocation faults at once.
  uint32_t stress_every = 0;

  // Entries of the mark stack; beyond them marking falls back to scanning the heap.
  size_t mark_stack_entries = size_t{1} << 26;

  // Called when the limit is reached (or the system refuses memory) and a major
  // collection has not helped, on the allocating thread, which may drop references.
  // Returns whether to try once more; otherwise the allocation throws std::bad_alloc.
  std::function<bool(size_t wanted_bytes)> on_out_of_memory;

  // Called after RequestSafepoint(), on the thread that was asked, at its next safepoint outside of
  // callbacks and finalizers; once for any number of requests since the last call.  May allocate,
  // collect and throw; an exception leaves the safepoint.
  std::function<void()> on_request;

  // Not owned; outlives the heap.
  HeapListener* listener = nullptr;

  // Reads settings separated by commas over those that are set:
  //
  //   nursery=4M,growth=80,floor=8M,limit=1G,verify,stress=1
  //
  // Sizes take K, M or G; blanks around words do not matter.  Fails with kInvalidArgument, naming
  // the word, and changes nothing then.
  absl::Status Parse(std::string_view text);

  // Reads the environment variable ALLOMON_HEAP, if it is set.  Heap::Create calls it
  // last, so it wins over what the program sets.
  absl::Status ParseEnvironment();

  // kInvalidArgument for values that no heap can have.
  absl::Status Validate() const;
};

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HEAP_OPTIONS_H_
