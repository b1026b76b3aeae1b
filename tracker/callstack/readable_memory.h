// Reads memory that may be unmapped, through pointers that are not trusted.
//
// A page is probed before it is read (stack_window.h), and remembered for the length of one walk.
// Meanwhile the thread that owns the memory is interrupted.  No allocation, no lock,
// async-signal-safe.  Cost: 150 ns for a page that was not one of the last seven.
#ifndef ALLOMON_TRACKER_CALLSTACK_READABLE_MEMORY_H_
#define ALLOMON_TRACKER_CALLSTACK_READABLE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/page_size.h"
#include "tracker/callstack/stack_window.h"

namespace allomon::internal {

// Plain data: an object of zeros has read nothing yet.
class ReadableMemory {
 public:
  // Reads a T at an address that is a multiple of its size.  Returns false if it is not aligned,
  // not readable, or outside of the addresses that programs use.
  template <typename T>
  ALLOMON_READS_STACK bool Load(uintptr_t address, T* value) {
    using Loaded __attribute__((may_alias)) = T;
    if (address % sizeof(T) != 0 || !CoversPage(address & ~(kPageBytes - 1))) return false;
    *value = *reinterpret_cast<const volatile Loaded*>(address);
    return true;
  }

  // The same for an aligned address that Covers() has confirmed as readable.
  template <typename T>
  ALLOMON_READS_STACK static T LoadCovered(uintptr_t address) {
    using Loaded __attribute__((may_alias)) = T;
    return *reinterpret_cast<const volatile Loaded*>(address);
  }

  // Whether all bytes of [address, address + size_bytes) can be read.
  bool Covers(uintptr_t address, size_t size_bytes) {
    if (size_bytes > kMostBytes) return false;
    const uintptr_t last = (address + (size_bytes == 0 ? 0 : size_bytes - 1)) & ~(kPageBytes - 1);
    for (uintptr_t page = address & ~(kPageBytes - 1);; page += kPageBytes) {
      if (!CoversPage(page)) return false;
      if (page >= last) return true;
    }
  }

 private:
  static constexpr uintptr_t kPageBytes = kLeastPageBytes;
  static constexpr uintptr_t kLowest = 65536;
  static constexpr uintptr_t kHighest = uintptr_t{1} << 47;
  static constexpr size_t kMostBytes = size_t{1} << 22;
  static constexpr uint32_t kPages = 7;

  bool CoversPage(uintptr_t page) {
    for (const uintptr_t known : pages_) {
      if (known == page) return page != 0;
    }
    if (page < kLowest || page >= kHighest || !IsReadablePage(page)) return false;
    pages_[next_++ % kPages] = page;
    return true;
  }

  uintptr_t pages_[kPages];
  uintptr_t next_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_READABLE_MEMORY_H_
