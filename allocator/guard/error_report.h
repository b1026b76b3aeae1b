// Reports of memory errors that the guard has found.  docs/memory_errors.md shows the text's form.
//
// Async-signal-safe.  Takes no lock that the program could hold (inv.guard.report).  If two threads
// report, one waits for the other, for five seconds at most.
#ifndef ALLOMON_ALLOCATOR_GUARD_ERROR_REPORT_H_
#define ALLOMON_ALLOCATOR_GUARD_ERROR_REPORT_H_

#include <cstddef>
#include <cstdint>

#include "allocator/guard/guarded_slot.h"
#include "allocator/host/entry_point.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

enum class MemoryError : uint8_t {
  kUseAfterFree,
  kOverflow,
  kUnderflow,
  kWildAccess,  // in the pool, but no block was ever there
  kDoubleFree,
  kInvalidFree,     // the pointer is not the start of a block
  kMismatchedFree,  // freed by a function of another family than the allocation
  kWrongSize,       // sized delete with another size
  kOverwrite,       // bytes after the block had changed when it was freed
  kUnderwrite,      // bytes before the block had changed when it was freed
};

struct ErrorFacts {
  MemoryError error;
  const GuardedSlot* slot;                 // the slot of the block in question, or nullptr
  uintptr_t address;                       // the address that was touched or freed
  EntryPoint entry = EntryPoint::kMalloc;  // the function that freed it
  size_t claimed_bytes = 0;                // kWrongSize: the size that delete named
};

// Sets whether the program continues after an error found by a free; by default it aborts.
void GoOnAfterErrors(bool goes_on);

// Reports an error found by free, delete or realloc; `caller` is the caller of that function.
// Returns only if the program continues.
void ReportAtFree(const ErrorFacts& facts, const FrameState& caller);

enum class AccessKind : uint8_t { kUnknown, kRead, kWrite };

// Reports a fault in the pool, at the instruction `at`.  Only the first fault of a process is
// reported: a host that returns to the instruction would raise the same fault repeatedly.
void ReportFault(uintptr_t address, AccessKind access, const FrameState& at);

uint64_t ReportedErrors();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_ERROR_REPORT_H_
