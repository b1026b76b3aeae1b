#include "allocator/python_objects.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocator/host/malloc_owner.h"
#include "allocator/sampled_block.h"
#include "tracker/base/check.h"
#include "tracker/base/words.h"
#include "tracker/heap_client.h"
#include "tracker/heap_tools.h"

// Declared as in Python's memory.rst, "Customize Memory Allocators".  The address is 0 without a
// Python.
extern "C" {
struct AllomonPythonAllocator {
  void* context;
  void* (*malloc)(void* context, size_t size_bytes);
  void* (*calloc)(void* context, size_t count, size_t size_bytes);
  void* (*realloc)(void* context, void* block, size_t size_bytes);
  void (*free)(void* context, void* block);
};
void PyMem_GetAllocator(int domain, AllomonPythonAllocator* allocator) __attribute__((weak));
void PyMem_SetAllocator(int domain, AllomonPythonAllocator* allocator) __attribute__((weak));
}

namespace allomon::internal {
namespace {

// Python's domains: the first uses malloc, those of buffers and of objects have arenas.
enum Domain { kRaw, kBuffers, kObjects };

// The largest size that the arenas serve (SMALL_REQUEST_THRESHOLD of obmalloc.c).  Python takes
// larger blocks from its first domain, where malloc counts them.  A request of 0 bytes gets a block
// of 1 there.
constexpr size_t kLargestInArena = 512;
bool IsInArena(size_t size_bytes) { return size_bytes - 1 < kLargestInArena; }

// The allocators that Python had set, for each domain.  Written before main.
AllomonPythonAllocator g_arenas[kObjects + 1];

bool CountDown(size_t size_bytes) {
  return __builtin_expect(heap_client::CountDown(WordsWithHeaderFast(size_bytes)), 0);
}

// Call stacks leave these functions out at their innermost end, as they do malloc.  The arenas'
// free passes on blocks that it does not know, so it also frees blocks of malloc.

template <Domain kDomain>
ALLOMON_MALLOC_SECTION void* Allocate(void* context, size_t size_bytes) {
  if (IsInArena(size_bytes) && CountDown(size_bytes)) {
    return AllocateSlow(size_bytes, EntryPoint::kMalloc);
  }
  return g_arenas[kDomain].malloc(context, size_bytes);
}

template <Domain kDomain>
ALLOMON_MALLOC_SECTION void* AllocateZeroed(void* context, size_t count, size_t size_bytes) {
  size_t total_bytes = 0;
  const bool overflows = __builtin_mul_overflow(count, size_bytes, &total_bytes);
  if (!overflows && IsInArena(total_bytes) && CountDown(total_bytes)) {
    return AllocateZeroedSlow(total_bytes);
  }
  return g_arenas[kDomain].calloc(context, count, size_bytes);
}

// Only the arenas know the size of the old block.  So they move it first, and if the countdown
// chooses the new block, it is moved once more.
ALLOMON_MALLOC_SLOW void* MoveToMalloc(const AllomonPythonAllocator& arenas, void* context,
                                       void* block, size_t size_bytes) {
  ALLOMON_DCHECK("inv.python.arena", IsInArena(size_bytes));
  void* const moved = AllocateSlow(size_bytes, EntryPoint::kMalloc);
  if (moved == nullptr) return block;
  ALLOMON_DCHECK_NE("inv.move.apart", moved, block);
  memcpy(moved, block, size_bytes);
  arenas.free(context, block);
  return moved;
}

// Only the arenas know whether a block is malloc's; malloc counts the blocks that it moves.  The
// number of counted words tells whether malloc has counted this one.
template <Domain kDomain>
ALLOMON_MALLOC_SECTION void* Reallocate(void* context, void* block, size_t size_bytes) {
  const AllomonPythonAllocator& arenas = g_arenas[kDomain];
  if (block == nullptr) return Allocate<kDomain>(context, size_bytes);
  if (!IsInArena(size_bytes)) return arenas.realloc(context, block, size_bytes);
  const uint64_t words_before = heap_client::OwnTrialWords();
  void* const moved = arenas.realloc(context, block, size_bytes);
  if (moved == nullptr || heap_client::OwnTrialWords() != words_before) return moved;
  return CountDown(size_bytes) ? MoveToMalloc(arenas, context, moved, size_bytes) : moved;
}

using Exchange = void (*)(int domain, AllomonPythonAllocator* allocator);

// Python's own functions; null where there is no Python.
struct Domains {
  Exchange get;
  Exchange set;

  bool IsThere() const { return get != nullptr && set != nullptr; }
  AllomonPythonAllocator AllocatorOf(Domain domain) const {
    AllomonPythonAllocator allocator;
    get(domain, &allocator);
    return allocator;
  }
};

Domains Linked() { return {PyMem_GetAllocator, PyMem_SetAllocator}; }

template <Domain kDomain>
void SampleDomain(const Domains& python, const AllomonPythonAllocator& raw) {
  g_arenas[kDomain] = python.AllocatorOf(kDomain);
  if (g_arenas[kDomain].malloc == raw.malloc) return;  // a Python that was built without arenas
  ALLOMON_DCHECK_NE("inv.python.once", g_arenas[kDomain].malloc, Allocate<kDomain>);
  AllomonPythonAllocator sampled = g_arenas[kDomain];
  sampled.malloc = Allocate<kDomain>;
  sampled.calloc = AllocateZeroed<kDomain>;
  sampled.realloc = Reallocate<kDomain>;
  python.set(kDomain, &sampled);
}

void SampleObjectsOf(const Domains& python) {
  const AllomonPythonAllocator raw = python.AllocatorOf(kRaw);
  SampleDomain<kBuffers>(python, raw);
  SampleDomain<kObjects>(python, raw);
}

// The arenas' functions have no context.  Python's hooks for debugging and for tracemalloc have
// one, and those for debugging refuse blocks that they did not make.
bool IsArenas(const AllomonPythonAllocator& allocator) { return allocator.context == nullptr; }

}  // namespace

void TakePythonObjectsFromMalloc() {
  const Domains python = Linked();
  if (!python.IsThere()) return;
  AllomonPythonAllocator raw = python.AllocatorOf(kRaw);
  python.set(kBuffers, &raw);
  python.set(kObjects, &raw);
}

// Blocks of ours would meet the free of a program that defines malloc itself.
void SamplePythonObjects() {
  if (StandsAside()) return;
  if (Linked().IsThere()) SampleObjectsOf(Linked());
}

// Other threads may allocate meanwhile.  They may see any mixture of the arenas' functions and
// ours: the context does not change, and each serves the other's blocks.
void SampleLoadedPythonObjects(void* library, FindSymbol find) {
  if (StandsAside()) return;
  const Domains python = {reinterpret_cast<Exchange>(find(library, "PyMem_GetAllocator")),
                          reinterpret_cast<Exchange>(find(library, "PyMem_SetAllocator"))};
  if (!python.IsThere() || !IsArenas(python.AllocatorOf(kBuffers))) return;
  if (IsArenas(python.AllocatorOf(kObjects))) SampleObjectsOf(python);
}

}  // namespace allomon::internal
