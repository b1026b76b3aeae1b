#include <dlfcn.h>
#include <malloc.h>

#include "allomon_backend.h"

namespace allomon::backend {
namespace {

using Mallinfo2 = struct mallinfo2 (*)();
using MallocTrim = int (*)(size_t);

}  // namespace

// Returns the heap usage that the C library, or the program's own allocator, reports: by the
// functions that follow those of //allocator:malloc in the order of symbol look-up.
Usage ReadUsage() {
  Usage usage;
  static const Mallinfo2 read = reinterpret_cast<Mallinfo2>(dlsym(RTLD_NEXT, "mallinfo2"));
  if (read == nullptr) return usage;
  const struct mallinfo2 info = read();
  usage.used_bytes = info.uordblks;
  usage.committed_bytes = info.arena;
  usage.large_blocks = info.hblks;
  usage.large_bytes = info.hblkhd;
  return usage;
}

void Collect() {
  static const MallocTrim trim = reinterpret_cast<MallocTrim>(dlsym(RTLD_NEXT, "malloc_trim"));
  if (trim != nullptr) trim(0);
}

}  // namespace allomon::backend
