// Settings of a heap, in code or as text.
#ifndef ALLOMON_RUNTIME_HEAP_OPTIONS_H_
#define ALLOMON_RUNTIME_HEAP_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace allomon::gc {

class HeapListener;

struct HeapOptions {
  // Bytes of each thread's nursery, rounded up to 64 KiB.  A larger nursery promotes less and holds
  // more memory: this many bytes per thread.
  size_t nursery_bytes = size_t{2} << 20;

  // A major collection begins when the bytes that have become old since the last one exceed this
  // percentage of the bytes that the last one left alive...
  uint32_t growth_percent = 100;
  // ...but not before this many bytes.
  size_t growth_floor_bytes = size_t{1} << 20;

  // The most bytes of the old space: chunks of 2 MiB and large objects.  The count includes chunks
  // that are kept free so that a minor collection never fails (1.4 times all nurseries, in whole
  // chunks).  0: no limit; otherwise at least 2 MiB.  If the limit leaves too little for a thread's
  // nursery, attaching that thread throws std::bad_alloc.
  size_t limit_bytes = 0;
  static constexpr size_t kLeastLimitBytes = size_t{2} << 20;

  // A major collection also starts when the old objects, with those that died since the last one
  // and with custom bytes, reach this many bytes, and the old space keeps no free memory beyond
  // that.  It is a wish, unlike limit_bytes: a heap whose live objects come near it grows by an
  // eighth of them, and by growth_floor_bytes, between two collections.  0: none.
  size_t soft_limit_bytes = 0;

  // From this percentage of the memory limit of the process's cgroup on, or of a cgroup above
  // (memory.high or memory.max, version 1 also; files that the kernel would drop do not count), the
  // heap grows by an eighth between two major collections, and keeps no free memory beyond that.
  // Looked at every 100 ms at most, by what collects.  0: never.
  uint32_t cgroup_percent = 90;

  // Walks the whole heap after every collection and aborts on the first broken
  // invariant.  Cost when on: several times the collection.
  bool verify = false;

  // Collects at every n-th allocation (0: never), moves every young object to another address, and
  // takes access from the old address.  A pointer that was kept across an allocation then faults at
  // once.
  uint32_t stress_every = 0;

  // Whether objects of sites that live long are born old (site.h).
  bool pretenure = true;

  // A file of SaveSites() that Heap::Create() loads.  Empty: no file.
  std::string sites_path;

  // A heap with at least this many bytes of old objects is marked and swept in slices, so that no
  // pause is long.  A smaller heap is marked and swept in one pause.  0: always in slices.
  size_t incremental_from_bytes = size_t{16} << 20;

  // Whether a thread of the heap does most of the marking and sweeping, if the machine has a second
  // processor.  The thread is started when the first major collection in slices begins.  If not,
  // the heap has no threads at all.
  bool background = true;

  // A thread that still runs this many milliseconds after another has asked for a stop is named, to
  // `listener`, or without one in a line on standard error.  All others wait for such a thread: it
  // computes without an allocation, a Safepoint() or a NativeRegion.  0: none is.
  uint32_t late_thread_ms = 0;

  // The most threads that do a minor collection, or mark while the world is stopped: the one that
  // collects, and threads of the heap, which are started when collections have survivors.  At most
  // 32.  0: as many as there are processors, but no more than four.  For machines that have
  // processors without other work: a collection waits for a thread that another program keeps from
  // running.  Without effect on one processor, and without `background`.
  uint32_t collectors = 1;
  static constexpr uint32_t kMostCollectors = 32;

  // Several threads collect where this many bytes are expected to survive, by the last collections,
  // and mark where kMarkedPerMoved times as many are.  For fewer, waking a thread takes too long.
  // 0: each collection, for tests.
  size_t collectors_from_bytes = size_t{512} << 10;
  static constexpr size_t kMarkedPerMoved = 8;

  // For tests.  Ends a slice after this many looks at the clock, however little time has passed;
  // looks are some 64 objects apart.  0: slices end by time alone.
  uint32_t slice_looks = 0;

  // Entries of the mark stack.  When it is full, marking falls back to scanning the heap.
  size_t mark_stack_entries = size_t{1} << 26;
  static constexpr size_t kLeastMarkStackEntries = 16;

  // Called when the limit is reached (or the system refuses memory) and a major collection has not
  // helped.  Runs on the allocating thread, and may drop references.  Returns whether to try once
  // more; otherwise the allocation throws std::bad_alloc.  Not called for sizes above the limit or
  // above the addresses of the process, which are refused without a collection.
  std::function<bool(size_t wanted_bytes)> on_out_of_memory;

  // Called after RequestSafepoint(), on the requested thread, at its next safepoint
  // outside of callbacks and finalizers.  It is called once for any number of requests since its
  // last call.  It may allocate, collect and throw; its exception is thrown from the safepoint.
  std::function<void()> on_request;

  // Not owned; must outlive the heap.
  HeapListener* listener = nullptr;

  // Reads settings separated by commas, and changes the present ones accordingly:
  //
  //   nursery=4M,growth=80,floor=8M,limit=1G,soft_limit=800M,cgroup=80,verify,stress=1,
  //   pretenure=0,sites=FILE,incremental=64M,background=0,late=50,collectors=2
  //
  // Sizes take K, M or G; blanks around words do not matter.  On failure the result is
  // kInvalidArgument and names the word, and no setting is changed.
  absl::Status Parse(std::string_view text);

  // Reads the environment variable ALLOMON_HEAP, if it is set.  Heap::Create() calls this last, so
  // the variable overrides the program's settings.
  absl::Status ParseEnvironment();

  // kInvalidArgument for values that no heap can have.
  absl::Status Validate() const;
};

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HEAP_OPTIONS_H_
