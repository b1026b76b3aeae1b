// Out-of-heap bytes that their owner reports: a mapped file, a GPU buffer, an arena.
//
//   allomon::CustomMemory bytes(mapping_size_bytes);   // kept beside the mapping
//
// They are sampled like everything else, with source kCustom and no header word, as blocks born
// major: alloc_major when the object is made, dealloc_major when it is released.  Bytes that are
// not sampled cost a subtraction and a branch.
//
// Thread safe in the usual sense: one object, one thread at a time; it may be released on another
// thread than it was made on.  May be used in callbacks, not in signal handlers.  Never throws.
#ifndef ALLOMON_TRACKER_CUSTOM_MEMORY_H_
#define ALLOMON_TRACKER_CUSTOM_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tracker/base/words.h"
#include "tracker/sampling/countdown.h"

namespace allomon {

namespace internal {
// Called if the countdown is below zero.  Judges and reports; returns the handle, 0 if not
// followed.
__attribute__((noinline, cold)) uint32_t ReportCustomSlow(size_t size_bytes);
__attribute__((noinline, cold)) void ReleaseCustomSlow(uint32_t handle);
}  // namespace internal

class [[nodiscard]] CustomMemory {
 public:
  CustomMemory() = default;  // nothing
  // Holds one trial per word for the whole size; 0 bytes are never sampled.
  explicit CustomMemory(size_t size_bytes) {
    if (internal::CountDown(internal::WordsOf(size_bytes))) {
      handle_ = internal::ReportCustomSlow(size_bytes);
    }
  }
  ~CustomMemory() { Release(); }

  CustomMemory(CustomMemory&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  CustomMemory& operator=(CustomMemory&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  // Reports that the bytes are freed.  A second call does nothing.
  void Release() {
    if (handle_ != 0) internal::ReleaseCustomSlow(std::exchange(handle_, 0));
  }

 private:
  uint32_t handle_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_CUSTOM_MEMORY_H_
