// The C library's functions that query and tune the heap, implemented for ours.  See "What a
// program asks of its heap" in README.md.
//
// Interface: mallinfo(3), malloc_info(3), malloc_stats(3), malloc_trim(3), mallopt(3).
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "allocator/heap_usage.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/host/next_function.h"
#include "allomon_backend.h"

#define ALLOMON_EXPORT __attribute__((visibility("default"), used))

namespace {

using allomon::backend::Usage;
using allomon::internal::FindNext;
using allomon::internal::Function;
using allomon::internal::NextFunction;
using allomon::internal::ReadHeapUsage;
using allomon::internal::StandsAside;

// Whether the heap in question is not ours.
bool PassesOn() {
#if defined(ALLOMON_BACKEND_IS_THE_HOSTS)
  return true;
#else
  return StandsAside();
#endif
}

#if defined(ALLOMON_BACKEND_IS_THE_HOSTS)
// Early, for the reason in next_symbol.h.
__attribute__((constructor)) void LookUp() {
  FindNext(Function::kMallocInfo);
  FindNext(Function::kMallocStats);
  FindNext(Function::kMallocTrim);
  FindNext(Function::kMallopt);
}
#endif

// Other threads may take blocks between two readings.
size_t FreeBytes(const Usage& usage) {
  return usage.used_bytes < usage.committed_bytes ? usage.committed_bytes - usage.used_bytes : 0;
}

struct mallinfo2 InfoOf(const Usage& usage) {
  struct mallinfo2 info = {};
  info.arena = usage.committed_bytes;
  info.hblks = usage.large_blocks;
  info.hblkhd = usage.large_bytes;
  info.uordblks = usage.used_bytes;
  info.fordblks = FreeBytes(usage);
  return info;
}

// Truncates values that do not fit, as glibc does.
struct mallinfo Narrow(const struct mallinfo2& wide) {
  struct mallinfo info = {};
  info.arena = static_cast<int>(wide.arena);
  info.hblks = static_cast<int>(wide.hblks);
  info.hblkhd = static_cast<int>(wide.hblkhd);
  info.uordblks = static_cast<int>(wide.uordblks);
  info.fordblks = static_cast<int>(wide.fordblks);
  return info;
}

// The elements of glibc's output, which has a heap per arena.
constexpr char kXml[] =
    "<malloc version=\"1\">\n"
    "<heap nr=\"0\">\n"
    "<sizes>\n"
    "</sizes>\n"
    "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
    "<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
    "<system type=\"current\" size=\"%zu\"/>\n"
    "</heap>\n"
    "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
    "<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n"
    "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
    "<system type=\"current\" size=\"%zu\"/>\n"
    "</malloc>\n";

constexpr char kText[] =
    "Arena 0:\n"
    "system bytes     = %10zu\n"
    "in use bytes     = %10zu\n"
    "Total (incl. mmap):\n"
    "system bytes     = %10zu\n"
    "in use bytes     = %10zu\n"
    "mmap regions     = %10zu\n"
    "mmap bytes       = %10zu\n";

}  // namespace

extern "C" {

ALLOMON_EXPORT struct mallinfo2 mallinfo2() noexcept {
  if (StandsAside()) return NextFunction<struct mallinfo2()>(Function::kMallinfo2)();
  return InfoOf(ReadHeapUsage());
}

ALLOMON_EXPORT struct mallinfo mallinfo() noexcept { return Narrow(mallinfo2()); }
ALLOMON_EXPORT struct mallinfo __libc_mallinfo() noexcept { return Narrow(mallinfo2()); }

ALLOMON_EXPORT int malloc_info(int options, FILE* stream) noexcept {
  if (PassesOn()) {
    return NextFunction<int(int, FILE*)>(Function::kMallocInfo)(options, stream);
  }
  if (options != 0) return EINVAL;
  const Usage usage = ReadHeapUsage();
  const size_t free_bytes = FreeBytes(usage);
  fprintf(stream, kXml, free_bytes, usage.committed_bytes, free_bytes, usage.large_blocks,
          usage.large_bytes, usage.committed_bytes);
  return 0;
}

ALLOMON_EXPORT void malloc_stats() noexcept {
  if (PassesOn()) return NextFunction<void()>(Function::kMallocStats)();
  const Usage usage = ReadHeapUsage();
  fprintf(stderr, kText, usage.committed_bytes, usage.used_bytes,
          usage.committed_bytes + usage.large_bytes, usage.used_bytes + usage.large_bytes,
          usage.large_blocks, usage.large_bytes);
}

// Returns 1 if the heap takes less memory than before.
ALLOMON_EXPORT int malloc_trim(size_t pad_bytes) noexcept {
  if (PassesOn()) return NextFunction<int(size_t)>(Function::kMallocTrim)(pad_bytes);
  const size_t before_bytes = ReadHeapUsage().committed_bytes;
  allomon::backend::Collect();
  return ReadHeapUsage().committed_bytes < before_bytes ? 1 : 0;
}

// Parameters that tune glibc's heap have no effect on ours, and are accepted.  Blocks are not
// filled.
ALLOMON_EXPORT int mallopt(int parameter, int value) noexcept {
  if (PassesOn()) return NextFunction<int(int, int)>(Function::kMallopt)(parameter, value);
  return parameter == M_PERTURB && value != 0 ? 0 : 1;
}
ALLOMON_EXPORT int __libc_mallopt(int parameter, int value) noexcept {
  return mallopt(parameter, value);
}

}  // extern "C"
