#include "runtime/internal/space/young_range.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/internal/space/memory.h"
#include "tracker/base/own_mappings.h"

namespace allomon::gc::internal {
namespace {

// The address from which the next search starts.  Only a hint: the kernel knows which addresses are
// free.
std::atomic<uintptr_t> g_next{kYoungStart};

// Returns nullptr with EEXIST if another mapping is there.
char* MapAt(uintptr_t address, size_t size_bytes) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const start =
      mmap(wanted, size_bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  if (start == wanted) {
    // Usually this is the first nursery of the process, which will be filled.  Nurseries of further
    // threads take their pages one by one, as some threads make few objects.
    if (address == kYoungStart) PreferHugePages(start, size_bytes);
    allomon::internal::NoteMapping(start, size_bytes, allomon::internal::MappingUse::kManaged);
    return static_cast<char*>(start);
  }
  // Kernels before 4.17, and valgrind, treat the address as a hint.
  ReleaseMemory(start, size_bytes);
  errno = EEXIST;
  return nullptr;
}

// Tries all multiples of `step` from the hint on.
char* TakeInSteps(size_t step, size_t size_bytes) {
  uintptr_t address = g_next.load(std::memory_order_relaxed);
  for (size_t tried = 0; tried < kYoungBytes; tried += step) {
    if (address + size_bytes > kYoungStart + kYoungBytes) address = kYoungStart;
    if (char* const slice = MapAt(address, size_bytes); slice != nullptr) {
      g_next.store(address + size_bytes, std::memory_order_relaxed);
      return slice;
    }
    if (errno != EEXIST) return nullptr;
    address += step;
  }
  return nullptr;
}

}  // namespace

// Usually all nurseries have one size, so the first call steps from one to the next.
char* TakeYoungSlice(size_t size_bytes) {
  char* const slice = TakeInSteps(size_bytes, size_bytes);
  return slice != nullptr || errno != EEXIST ? slice : TakeInSteps(kSliceBytes, size_bytes);
}

void ReturnYoungSlice(char* start, size_t size_bytes, bool rests) {
  ALLOMON_GC_UNPOISON(start, size_bytes);
  // A process with too many mappings keeps the addresses but gives the memory back.
  allomon::internal::ForgetMapping(start);
  if (munmap(start, size_bytes) != 0) {
    allomon::internal::NoteMapping(start, size_bytes, allomon::internal::MappingUse::kManaged);
    return ForgetMemory(start, size_bytes);
  }
  if (!rests) g_next.store(reinterpret_cast<uintptr_t>(start), std::memory_order_relaxed);
}

absl::Status ProbeYoungRange(size_t size_bytes) {
  if (char* const slice = TakeYoungSlice(size_bytes); slice != nullptr) {
    ReturnYoungSlice(slice, size_bytes);
    return absl::OkStatus();
  }
  const int error = errno;
  char text[400];
  if (error == ENOMEM) {
    snprintf(text, sizeof(text),
             "no address space for a nursery of %zu KiB: raise the limit (ulimit -v), or take a "
             "smaller one (ALLOMON_HEAP=nursery=64K)",
             size_bytes >> 10);
    return absl::ResourceExhaustedError(text);
  }
  snprintf(text, sizeof(text),
           "a nursery of %zu KiB must lie at 0x%zx to 0x%zx: %s; what is there, /proc/self/maps "
           "tells: it has to be mapped elsewhere (a sanitizer's shadow: compile runtime/ with that "
           "sanitizer)",
           size_bytes >> 10, kYoungStart, kYoungStart + kYoungBytes,
           error == EEXIST ? "other mappings fill these addresses" : strerror(error));
  return absl::FailedPreconditionError(text);
}

}  // namespace allomon::gc::internal
