// Functions whose names must appear in reports, and the guard as the tests configure it.
#ifndef ALLOMON_TESTS_GUARD_MISUSE_H_
#define ALLOMON_TESTS_GUARD_MISUSE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "allocator/guard.h"
#include "tracker/tracker.h"

namespace misuse {

// These functions are not inlined and make no tail calls, so each has a frame of its own.
void* TakeByMalloc(size_t size_bytes);
void FreeByFree(void* block);
char* TakeByNewArray(size_t size_bytes);
void FreeByDeleteArray(char* block);
void Write(char* address);
char Read(const char* address);

}  // namespace misuse

namespace allomon::testing {

// A tracker that follows every block.  Its note is `text` and the block's size.
struct NotingTracker {
  std::string text;
  std::optional<int> alloc_major(const Allocation& allocation) {
    return static_cast<int>(allocation.size_bytes);
  }
  std::string describe(const int& size) { return text + ", size " + std::to_string(size); }
};

// Guards every block from now on, with a note.  `goes_on`: the program continues after an error
// found by a free.
void GuardEverything(bool goes_on = false);

// Returns a block at the end, or at the start, of its page.  Allocates until a block lies there.
char* TakeAtPageEnd(size_t size_bytes);
char* TakeAtPageStart(size_t size_bytes);

inline constexpr size_t kPageBytes = 4096;

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_GUARD_MISUSE_H_
