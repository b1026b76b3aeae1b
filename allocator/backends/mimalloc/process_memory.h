// This process's memory and mappings, read through files, which return an error for unmapped
// addresses: other threads run meanwhile, and may return memory to the kernel.  No call is a
// cancellation point.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_PROCESS_MEMORY_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_PROCESS_MEMORY_H_

#include <fcntl.h>

#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::backend {

class File {
 public:
  explicit File(const char* path) : descriptor_(internal::sys::Open(path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) internal::sys::Close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  bool ReadAt(uintptr_t offset, void* to, size_t bytes) const {
    const ssize_t done = internal::sys::Pread(descriptor_, to, bytes, offset);
    return done == static_cast<ssize_t>(bytes);
  }
  // -1 at the end.
  int Next() {
    if (at_ == filled_) {
      filled_ = internal::sys::Read(descriptor_, buffer_, sizeof(buffer_));
      at_ = 0;
      if (filled_ <= 0) return filled_ = at_ = -1;
    }
    ALLOMON_DCHECK_LT("inv.heap_usage.cursor", at_, filled_);
    return static_cast<unsigned char>(buffer_[at_++]);
  }

 private:
  const int descriptor_;
  char buffer_[1024];
  ssize_t at_ = 0;
  ssize_t filled_ = 0;
};

// The lines of the file, which proc(5) describes: "begin-end perms ...".
class Mappings {
 public:
  // The next one that can be written.
  bool Next(uintptr_t* begin, uintptr_t* end) {
    bool writable = false;
    do {
      *begin = Number();
      *end = Number();
      file_.Next();
      writable = file_.Next() == 'w';
      for (int c = 0; c != '\n';) {
        c = file_.Next();
        if (c < 0) return false;
      }
    } while (!writable);
    return true;
  }

 private:
  // Reads a hexadecimal number and the character after it.
  uintptr_t Number() {
    uintptr_t number = 0;
    for (;;) {
      const int c = file_.Next();
      const bool digit = c >= '0' && c <= '9';
      if (!digit && !(c >= 'a' && c <= 'f')) return number;
      number = number * 16 + static_cast<uintptr_t>(digit ? c - '0' : c - 'a' + 10);
    }
  }

  File file_{"/proc/thread-self/maps"};
};

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_PROCESS_MEMORY_H_
