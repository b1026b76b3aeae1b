// A backend over the C library's malloc that fails when a test tells it to.  Not for a malloc
// replacement.
#ifndef ALLOMON_TESTS_BACKENDS_FAILING_ALLOMON_BACKEND_H_
#define ALLOMON_TESTS_BACKENDS_FAILING_ALLOMON_BACKEND_H_

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace allomon::backend {

inline constexpr const char* kName = "failing";

// The allocations to count: chunks and large objects only, or every block.
enum class Failing { kChunks, kAll };
inline std::atomic<Failing> g_failing{Failing::kAll};
// Makes the n-th allocation from now on fail, and all later ones.  0: no failure.
inline std::atomic<long> g_fail_at{0};

inline bool Fails(Failing kind) {
  if (g_fail_at == 0 || (kind == Failing::kAll && g_failing == Failing::kChunks)) return false;
  if (g_fail_at == 1) return true;
  --g_fail_at;
  return false;
}

inline void* Malloc(size_t size_bytes) {
  return Fails(Failing::kAll) ? nullptr : malloc(size_bytes);
}
// A function that runs at the beginning of each Calloc, on the calling thread; may be nullptr.
inline std::atomic<void (*)(size_t size_bytes)> g_in_calloc{nullptr};

inline void* Calloc(size_t size_bytes) {
  if (void (*run)(size_t) = g_in_calloc) run(size_bytes);
  return Fails(Failing::kChunks) ? nullptr : calloc(1, size_bytes);
}
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  return Fails(Failing::kChunks) ? nullptr : memalign(alignment_bytes, size_bytes);
}
// Only the log of remembered slots grows by it, and a write barrier can only end the process when a
// log that cannot grow is full (runtime/README.md, "Limits").  So it fails where that is asked for.
inline std::atomic<bool> g_realloc_fails{false};
inline void* Realloc(void* block, size_t size_bytes) {
  return g_realloc_fails ? nullptr : realloc(block, size_bytes == 0 ? 1 : size_bytes);
}
inline void Free(void* block) { free(block); }
inline size_t UsableSize(const void* block) { return malloc_usable_size(const_cast<void*>(block)); }
inline size_t GoodSize(size_t size_bytes) { return size_bytes; }
inline void Collect() {}

}  // namespace allomon::backend

#endif  // ALLOMON_TESTS_BACKENDS_FAILING_ALLOMON_BACKEND_H_
