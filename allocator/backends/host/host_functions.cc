#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "allomon_backend.h"
#include "tracker/base/check.h"
#include "tracker/base/next_symbol.h"

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

internal::NextSymbol<size_t(void*)> g_usable_size("malloc_usable_size");
// True if the object with the program's free() has it.  The C library's function reads a header
// that another malloc's block does not have.
std::atomic<bool> g_knows_usable_size{false};

// Returns the address at which the object with this function is mapped, or nullptr.
template <typename Function>
const void* ObjectOf(Function function) {
  dl_find_object found = {};
  return _dl_find_object(reinterpret_cast<void*>(function), &found) == 0 ? found.dlfo_map_start
                                                                         : nullptr;
}

bool IsFinding() { return g_finder.load(std::memory_order_relaxed) == &errno; }

template <typename Function>
void Find(const char* name, std::atomic<Function>* function) {
  const auto found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  if (found != nullptr) function->store(found, std::memory_order_relaxed);
}

using PosixMemalign = int (*)(void**, size_t, size_t);
std::atomic<PosixMemalign> g_posix_memalign{nullptr};

void* AlignByPosix(size_t alignment_bytes, size_t size_bytes) {
  const PosixMemalign align = g_posix_memalign.load(std::memory_order_relaxed);
  void* block = nullptr;
  const int error = align(&block, alignment_bytes, size_bytes);
  if (error == 0) return block;
  errno = error;
  return nullptr;
}

// A malloc may lack memalign(), which is neither of C nor of POSIX.  The C library's block would be
// no block of its free().
void FindMemalign() {
  Find("memalign", &host_functions.memalign);
  Find("posix_memalign", &g_posix_memalign);
  const void* const owner = ObjectOf(host_functions.free.load(std::memory_order_relaxed));
  if (ObjectOf(host_functions.memalign.load(std::memory_order_relaxed)) != owner &&
      ObjectOf(g_posix_memalign.load(std::memory_order_relaxed)) == owner) {
    host_functions.memalign.store(AlignByPosix, std::memory_order_relaxed);
  }
}

// Several threads may find the same functions at once.
void FindAll() {
  g_finder.store(&errno, std::memory_order_relaxed);
  const int kept_errno = errno;
  Find("free", &host_functions.free);
  Find("calloc", &host_functions.calloc);
  Find("realloc", &host_functions.realloc);
  FindMemalign();
  const bool knows = ObjectOf(g_usable_size.Find()) == ObjectOf(host_functions.free.load());
  g_knows_usable_size.store(knows, std::memory_order_relaxed);
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
  if (IsOfArena(block)) return ArenaBytesOf(block);
  const auto function = g_usable_size.Find();
  return function == nullptr ? 0 : function(const_cast<void*>(block));
}

void* ReallocToCopy(void* block, size_t size_bytes, size_t* old_bytes) {
  const bool is_known = g_knows_usable_size.load(std::memory_order_relaxed) || IsOfArena(block);
  *old_bytes = is_known ? UsableSize(block) : SIZE_MAX;
  return Realloc(block, size_bytes);
}

}  // namespace allomon::backend
