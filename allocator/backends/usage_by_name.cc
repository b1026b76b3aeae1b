#include <malloc.h>

#include "allomon_backend.h"
#include "tracker/base/next_symbol.h"

namespace allomon::backend {
namespace {

internal::NextSymbol<struct mallinfo2()> g_mallinfo2("mallinfo2");
internal::NextSymbol<int(size_t)> g_malloc_trim("malloc_trim");

__attribute__((constructor)) void LookUp() {
  g_mallinfo2.Find();
  g_malloc_trim.Find();
}

}  // namespace

// Returns the heap usage that the C library, or the program's own allocator, reports: by the
// functions that follow those of //allocator:malloc in the order of symbol look-up.
Usage ReadUsage() {
  Usage usage;
  const auto read = g_mallinfo2.Find();
  if (read == nullptr) return usage;
  const struct mallinfo2 info = read();
  usage.used_bytes = info.uordblks;
  usage.committed_bytes = info.arena;
  usage.large_blocks = info.hblks;
  usage.large_bytes = info.hblkhd;
  return usage;
}

void Collect() {
  const auto trim = g_malloc_trim.Find();
  if (trim != nullptr) trim(0);
}

}  // namespace allomon::backend
