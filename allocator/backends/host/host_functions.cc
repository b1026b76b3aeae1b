#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "allomon_backend.h"
#include "tracker/base/check.h"

namespace allomon::backend {
namespace {

// The largest alignment that malloc promises.
constexpr size_t kAlignmentBytes = 16;

std::atomic<size_t> g_arena_used{0};
// The thread that finds the functions, identified by the address of its errno, which is unique to a
// thread.
std::atomic<const int*> g_finder{nullptr};

// Returns a block of the arena, preceded by its size.  It is zero, since the arena is static and
// hands out nothing twice.
void* ArenaBlock(size_t size_bytes) {
  if (size_bytes > kArenaBytes - kAlignmentBytes) return nullptr;
  const size_t whole = (size_bytes + 2 * kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  const size_t begin = g_arena_used.fetch_add(whole, std::memory_order_relaxed);
  if (begin > kArenaBytes - whole) return nullptr;
  char* const block = arena + begin + kAlignmentBytes;
  ALLOMON_DCHECK_EQ("inv.arena.inside", reinterpret_cast<uintptr_t>(block) % kAlignmentBytes, 0);
  ALLOMON_DCHECK_LE("inv.arena.inside", block + size_bytes, arena + kArenaBytes);
  memcpy(block - sizeof(size_t), &size_bytes, sizeof(size_t));
  return block;
}

size_t ArenaBytesOf(const void* block) {
  size_t size_bytes = 0;
  memcpy(&size_bytes, static_cast<const char*>(block) - sizeof(size_t), sizeof(size_t));
  ALLOMON_DCHECK_LE("inv.arena.inside", size_bytes, kArenaBytes - kAlignmentBytes);
  return size_bytes;
}

bool IsFinding() { return g_finder.load(std::memory_order_relaxed) == &errno; }

template <typename Function>
void Find(const char* name, std::atomic<Function>* function) {
  const auto found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  if (found != nullptr) function->store(found, std::memory_order_relaxed);
}

// Several threads may find the same functions at once.
void FindAll() {
  g_finder.store(&errno, std::memory_order_relaxed);
  const int kept_errno = errno;
  Find("free", &host_functions.free);
  Find("calloc", &host_functions.calloc);
  Find("realloc", &host_functions.realloc);
  Find("memalign", &host_functions.memalign);
  Find("malloc", &host_functions.new_malloc);
  Find("malloc", &host_functions.malloc);
  g_finder.store(nullptr, std::memory_order_relaxed);
  errno = kept_errno;
}

void* FirstMalloc(size_t size_bytes) {
  if (IsFinding()) return ArenaBlock(size_bytes);
  FindAll();
  return Malloc(size_bytes);
}
void FirstFree(void* block) {
  if (block == nullptr || IsFinding()) return;  // no block of the program's exists yet
  FindAll();
  Free(block);
}
void* FirstCalloc(size_t count, size_t size_bytes) {
  if (IsFinding()) return ArenaBlock(count * size_bytes);
  FindAll();
  return Calloc(count * size_bytes);
}
void* FirstRealloc(void* block, size_t size_bytes) {
  if (IsFinding()) return ArenaBlock(size_bytes);
  FindAll();
  return Realloc(block, size_bytes);
}
void* FirstMemalign(size_t alignment_bytes, size_t size_bytes) {
  if (IsFinding()) return nullptr;
  FindAll();
  return Aligned(alignment_bytes, size_bytes);
}

}  // namespace

HostFunctions host_functions = {{FirstMalloc},  {FirstFree},     {FirstCalloc},
                                {FirstRealloc}, {FirstMemalign}, {FirstMalloc}};
alignas(kAlignmentBytes) char arena[kArenaBytes];

void FindHostFunctions() {
  if (host_functions.malloc.load(std::memory_order_relaxed) == FirstMalloc) FindAll();
}

void* ReallocOfArena(void* block, size_t size_bytes) {
  void* const moved = Malloc(size_bytes);
  if (moved == nullptr) return nullptr;
  const size_t before_bytes = ArenaBytesOf(block);
  memcpy(moved, block, before_bytes < size_bytes ? before_bytes : size_bytes);
  return moved;
}

size_t UsableSize(const void* block) {
  using Function = size_t (*)(void*);
  if (IsOfArena(block)) return ArenaBytesOf(block);
  static const Function function =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return function == nullptr ? 0 : function(const_cast<void*>(block));
}

}  // namespace allomon::backend
