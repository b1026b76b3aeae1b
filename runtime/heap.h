// A generational, moving garbage-collected heap for language runtimes written in C++.  It finds
// references on native stacks conservatively, and all others precisely.
//
//   auto heap = gc::Heap::Create();                      // absl::StatusOr
//   gc::Mutator mutator(**heap);                         // this thread takes part
//   gc::Local<Cell> list;
//   for (long i = 0; i < 10; ++i) list = gc::make<Cell>(i, list);
//
// A heap of more than some MB is marked beside the program, by a thread of its own if the machine
// has a second processor (HeapOptions::background).
//
// Each thread that touches the heap attaches to it.  Allocation is a safepoint.  A loop that does
// not allocate calls Safepoint(), and a thread that blocks opens a NativeRegion.  Otherwise the
// other threads wait for that thread when one of them must collect.
//
// Design, rules, invariants, tuning and limits: runtime/README.md.
#ifndef ALLOMON_RUNTIME_HEAP_H_
#define ALLOMON_RUNTIME_HEAP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/array.h"
#include "runtime/bulk.h"
#include "runtime/handle.h"
#include "runtime/heap_options.h"
#include "runtime/heap_statistics.h"
#include "runtime/identity.h"
#include "runtime/internal/stacks/stand_point.h"
#include "runtime/locals.h"
#include "runtime/make.h"
#include "runtime/numbers.h"
#include "runtime/pinned.h"
#include "runtime/registered_stack.h"
#include "runtime/shape.h"
#include "runtime/site.h"
#include "runtime/trailing.h"
#include "runtime/untraced.h"
#include "runtime/value_stack.h"
#include "runtime/weak.h"
#include "runtime/weak_map.h"
#include "tracker/callstack/managed_functions.h"

namespace allomon::gc {

namespace internal {
class HeapCore;
class Mutator;
// The two parts of opening a NativeRegion.
StandPoint& BeginNative();
void EnterNative(uintptr_t frame_end);

struct GlobalNode;

// The roots and tables of the heap that this thread is attached to.
GlobalNode* NewGlobal(Object* value, const char* name);
void DeleteGlobal(GlobalNode* node);
Slot& SlotOfGlobal(GlobalNode* node);
void AddFinalizer(Object* object, std::function<void(Object*)> run);
}  // namespace internal

// Thread safe, except the destructor, which must run after the last thread has detached.  It
// releases dead and living custom blocks, and reports followed samples dead. Finalizers of living
// objects do not run.
//
// Making, destroying, collecting and counting this heap are safepoints of the other heap that the
// calling thread may be attached to: objects of that heap may then move.
class Heap {
 public:
  // Fails with kInvalidArgument for bad options, in code or in ALLOMON_HEAP.  If no nursery can be
  // mapped, fails with kResourceExhausted when addresses run out, otherwise with
  // kFailedPrecondition: other mappings of the process lie where nurseries must (runtime/README.md,
  // section 5).
  static absl::StatusOr<std::unique_ptr<Heap>> Create(HeapOptions options = {});
  ~Heap();

  // Collects immediately.  kMinor empties the nurseries of all threads; kMajor finds every
  // unreachable object.  If the thread is attached, pending callbacks, finalizers and releases run,
  // and their exceptions are thrown.
  void Collect(CollectionKind kind);

  // Collects like Collect(), but does not scan this thread's own stack: the caller promises that no
  // Local on it is used again.  So every object that Fields, Globals, Roots, ValueStacks and other
  // stacks do not reach is found dead.  Call it only on the thread's own stack, outside of
  // NativeRegion.  For tests, and for a program's main loop between two requests.
  void CollectFromTop(CollectionKind kind);

  // Exact counters.  Cost: stops the world for a few microseconds.
  HeapStatistics statistics();

  // Counts the live objects by type; the type with most bytes comes first.  Exact: collects kMajor
  // first, as Collect() does, and counts before another thread resumes.  type.h says how types are
  // named.  Any thread, outside of NoAllocation and NativeRegion.  Cost: a major collection, and
  // some 5 ns per live object.  Throws std::bad_alloc.
  std::vector<LiveType> LiveByType();

  // Writes every live object, its type, size and references, and the roots, as a heap snapshot of
  // Chrome DevTools (.heapsnapshot).  `allomon heap` reads it, too.  Collects kMajor first, as
  // Collect() does; other threads wait until the file is written.  Contents: runtime/README.md,
  // "Looking into a heap".
  //
  // Writes a temporary file in the same folder, then renames it: the file at `path` is complete or
  // absent.  On failure the status has one line with the path, the cause and a remedy; an old file
  // at `path` stays.  Any thread, outside of NoAllocation and NativeRegion.  Cost: a major
  // collection, and some 0.2 to 0.6 us per object. Memory: 2 bytes per 512 of the old space, 16 per
  // ephemeron and 24 per custom block.  Throws std::bad_alloc, and what Collect() throws.
  absl::Status WriteSnapshot(const std::string& path);

  internal::HeapCore& core() { return *core_; }

 private:
  explicit Heap(const HeapOptions& options);
  std::unique_ptr<internal::HeapCore> core_;
};

// Attaches the thread to the heap for the length of a scope.  A thread can be attached to one heap
// at a time.  Aborts when the thread is already attached, or when Roots of the thread are alive at
// the end.  Locals of the thread must not be used after the end.  Cost: a mutex where another
// thread has left its nursery, else a nursery and a stop of the world.
class Mutator {
 public:
  // Throws std::bad_alloc when the limit, or the system, leaves no room for a nursery.
  explicit Mutator(Heap& heap);
  // Collections do not wait for this thread while it waits for one.  Pending callbacks, finalizers
  // and releases run if they can; their exceptions are dropped.
  ~Mutator();
  Mutator(const Mutator&) = delete;
  Mutator& operator=(const Mutator&) = delete;

  // Makes this mutator's thread run HeapOptions::on_request at its next safepoint.  May be called
  // by any thread and any signal handler, as long as the Mutator lives.  Cost: two stores and a
  // fence.
  void RequestSafepoint() const;

 private:
  internal::Mutator* const mutator_;
};

// The same request for the calling thread, for signal handlers that end or interrupt a program.
// False if the thread is not attached.  Async-signal-safe.
bool RequestSafepoint();

// While a NativeRegion is open, collections do not wait for the thread.  The thread must neither
// touch managed objects nor assign Locals; the objects that its Locals refer to do not move.  An
// allocation, another NativeRegion or a NoAllocation scope inside the region aborts, in every
// build.  The end of the region waits for a collection in progress.  Throws std::bad_alloc.  Cost:
// two mutex operations, and the words of the calling frame.
class NativeRegion {
 public:
  // Inlined into the function that opens the region, so that the variables of that function are
  // noted.
  ALLOMON_GC_INLINE NativeRegion() {
    internal::StandHere(internal::BeginNative());
    internal::EnterNative(reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
  }
  ~NativeRegion();
  NativeRegion(const NativeRegion&) = delete;
  NativeRegion& operator=(const NativeRegion&) = delete;
};

// Allows collections and callbacks in loops that do not allocate.  Throws the exceptions of
// callbacks.  Cost: a load and a branch.
void SafepointSlow();
inline void Safepoint() {
  if (__builtin_expect(internal::t_window.limit.load(std::memory_order_relaxed) == 0, 0)) {
    SafepointSlow();
  }
}

// While a NoAllocation scope is open no object moves, and raw pointers may be held.  An allocation,
// fork(), or the use of another heap inside the scope aborts, in every build.  Other threads that
// collect wait for the end of the scope, so keep it short.
class NoAllocation {
 public:
  NoAllocation();
  ~NoAllocation();
  NoAllocation(const NoAllocation&) = delete;
  NoAllocation& operator=(const NoAllocation&) = delete;

  template <typename T>
  T* raw(Handle<T> handle) const {
    return reinterpret_cast<T*>(internal::Access::Raw(handle));
  }
};

// A root that belongs to no thread and may live in static storage, but not longer than the heap.
// Attached threads make, assign and read it; any thread may destroy it.  Two threads need a lock to
// share one.  Cost: a mutex and a block of malloc's when it is made and destroyed; every collection
// visits every Global.
template <typename T>
class Global {
 public:
  Global() = default;
  // Snapshots show the root by this name, which is not copied.
  explicit Global(const char* name) : name_(name) {}
  explicit Global(Handle<T> value) { Set(value); }
  ~Global() { Reset(); }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;

  Global& operator=(Handle<T> value) {
    Set(value);
    return *this;
  }
  Local<T> get() const {
    return internal::LocalOf<T>(node_ == nullptr ? nullptr : internal::SlotOfGlobal(node_));
  }
  void Reset() {
    if (node_ != nullptr) internal::DeleteGlobal(node_);
    node_ = nullptr;
  }

 private:
  void Set(Handle<T> value) {
    if (node_ == nullptr) {
      node_ = internal::NewGlobal(internal::Access::Raw(value), name_);
    } else {
      internal::SlotOfGlobal(node_) = internal::Access::Raw(value);
    }
  }

  internal::GlobalNode* node_ = nullptr;
  const char* const name_ = nullptr;
};

// Calls run(object) once, at a safepoint of some thread, when nothing but finalizers and weak
// references reaches `object`.  Weak references to the object are cleared before.  Finalizers run
// in the order of registration.  They may allocate, revive the object, and register another
// finalizer.  An exception of a finalizer is thrown from the safepoint.  The object dies old: a
// minor collection does not find it dead.  May throw std::bad_alloc.
template <typename T>
void add_finalizer(Handle<T> object, std::function<void(Handle<T>)> run) {
  internal::AddFinalizer(
      internal::Access::Raw(object),
      [run = std::move(run)](internal::Object* raw) { run(internal::LocalOf<T>(raw)); });
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HEAP_H_
