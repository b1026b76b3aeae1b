#include "runtime/internal/space/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "tracker/base/own_mappings.h"
#include "tracker/base/page_size.h"

namespace allomon::gc::internal {
namespace {

#ifdef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateWrite = 23;  // since Linux 5.14; headers may be older
#endif

// The advice is a hint: if the kernel refuses, nothing changes.
void Advise(void* start, size_t size_bytes, int advice) {
  const int before = errno;
  madvise(start, size_bytes, advice);
  errno = before;
}

}  // namespace

void* ReserveMemory(size_t size_bytes) {
  void* start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  allomon::internal::NoteMapping(start, size_bytes, allomon::internal::MappingUse::kManaged);
  return start;
}

void ReleaseMemory(void* start, size_t size_bytes) {
  allomon::internal::ForgetMapping(start);
  munmap(start, size_bytes);
}

void ForgetMemory(void* start, size_t size_bytes) { Advise(start, size_bytes, MADV_DONTNEED); }

void ForgetWholePages(void* start, size_t size_bytes) {
  static const uintptr_t page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(start) + page_bytes - 1) & ~(page_bytes - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(start) + size_bytes) & ~(page_bytes - 1);
  if (begin < end) ForgetMemory(reinterpret_cast<void*>(begin), end - begin);
}

void PreferHugePages(void* start, size_t size_bytes) { Advise(start, size_bytes, MADV_HUGEPAGE); }

void TakePages(void* start, size_t size_bytes) {
  const uintptr_t begin =
      reinterpret_cast<uintptr_t>(start) & ~(allomon::internal::PageBytes() - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(start) + size_bytes;
  Advise(reinterpret_cast<void*>(begin), end - begin, kPopulateWrite);
}

}  // namespace allomon::gc::internal
