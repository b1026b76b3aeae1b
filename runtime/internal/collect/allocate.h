// The allocation fast path, and its calls of the slow path.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_ALLOCATE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_ALLOCATE_H_

#include <cstring>

#include "runtime/internal/space/poison.h"
#include "runtime/internal/space/window.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {

class SiteState;

// Takes room for an object with its header, at most kMaxYoungBytes + 8 bytes; nullptr when the slow
// path must be taken.  Cost: five instructions: load, add, compare, branch, store.
__attribute__((always_inline)) inline char* TryAllocateYoung(size_t bytes) {
  const uintptr_t start = t_window.cursor;
  const uintptr_t end = start + bytes;
  if (__builtin_expect(end > t_window.limit.load(std::memory_order_relaxed), 0)) return nullptr;
  t_window.cursor = end;
  if (start == 0) __builtin_unreachable();  // the limit of a thread without nursery is 0
  ALLOMON_GC_UNPOISON(reinterpret_cast<void*>(start), bytes);
  return reinterpret_cast<char*>(start);
}

// The same for an object of an old site, in the old space.  Cost: seven instructions.
__attribute__((always_inline)) inline char* TryAllocateOld(size_t bytes) {
  const uintptr_t start = t_window.old_cursor;
  const uintptr_t end = start + bytes;
  // A nursery's limit of 0 wants the thread's attention.
  if (__builtin_expect(end > t_window.old_limit, 0) ||
      __builtin_expect(t_window.limit.load(std::memory_order_relaxed) == 0, 0)) {
    return nullptr;
  }
  t_window.old_cursor = end;
  if (start == 0) __builtin_unreachable();  // without a block the limit is 0
  return reinterpret_cast<char*>(start);
}

// Keeps the call that made the object from being a tail call: the frame of the function that
// allocates would be gone from the call stack of a sample.
__attribute__((always_inline)) inline Object* NoTailCall(Object* made) {
  asm("" : "+r"(made));
  return made;
}

// See slow_path.h.  `header` is that of the new object.  `caller` is the frame in which the call
// stack of a sample begins.
char* AllocateYoungSlow(size_t bytes, uintptr_t header, FrameState caller);

// Room for an object.
struct Placed {
  char* start;
  bool old;
};
// Allocates at a site.  If the object is old, the caller must remember its slots that refer to
// young objects.
Placed AllocateAtSlow(SiteState& site, size_t bytes, uintptr_t header, FrameState caller);

// Makes an object with a length word and `words` more after it.  Zero-filled, header written.
Object* MakeSizedSlow(uintptr_t header, uint64_t length, uint64_t words);
// The same, in a block of its own, where the object stays.
Object* MakeSettled(uintptr_t header, uint64_t length, uint64_t words);

inline void ZeroWords(void* start, uint64_t words) {
  size_t bytes = words * kWordBytes;
  // The asm hides from g++ that the number is a multiple of 8 below 8 KiB.  For such a number g++
  // emits `rep stos`, which takes three times as long as the C library for 128 bytes.
  asm("" : "+r"(bytes));
  memset(start, 0, bytes);
}

// Leaves the words unwritten, because the caller overwrites them before any read.  Debug builds
// fill them with a byte that reveals an early read.
inline void LeaveWords([[maybe_unused]] void* start, [[maybe_unused]] uint64_t words) {
#ifndef NDEBUG
  constexpr int kNobodysByte = 0xdb;
  memset(start, kNobodysByte, words * kWordBytes);
#endif
}

// `fill` is ZeroWords, or LeaveWords where the words have no references.
using FillWords = void(void* start, uint64_t words);

template <FillWords fill = ZeroWords>
inline Object* InitSized(char* start, uintptr_t header, uint64_t length, uint64_t words) {
  Object* object = reinterpret_cast<Object*>(start + kWordBytes);
  *WordsOf(object) = length;
  fill(WordsOf(object) + 1, words);
  HeaderOf(object) = header;
  return object;
}

template <FillWords fill = ZeroWords>
inline Object* MakeSized(uintptr_t header, uint64_t length, uint64_t words) {
  if (__builtin_expect(words < kMaxYoungBytes / kWordBytes, 1)) {
    char* start = TryAllocateYoung((words + 2) * kWordBytes);
    if (__builtin_expect(start != nullptr, 1)) {
      return InitSized<fill>(start, header, length, words);
    }
  }
  return NoTailCall(MakeSizedSlow(header, length, words));
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_ALLOCATE_H_
