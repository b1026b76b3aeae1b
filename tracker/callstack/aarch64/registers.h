// registers.h for 64-bit Arm: a call puts the return address into x30, and most functions store it
// beside the caller's x29.
//
// A function that was built with -mbranch-protection=pac-ret signs the address before it stores it:
// the bits above those of an address hold a check.
#ifndef ALLOMON_TRACKER_CALLSTACK_AARCH64_REGISTERS_H_
#define ALLOMON_TRACKER_CALLSTACK_AARCH64_REGISTERS_H_

#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

inline constexpr uint64_t kDwarfFp = 29;
inline constexpr uint64_t kDwarfReturn = 30;
inline constexpr uint64_t kDwarfSp = 31;
inline constexpr uint64_t kDwarfPc = 32;

// A function that changes one of these stores the caller's value first.
inline constexpr uint64_t kSavedRegisters[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, kDwarfFp};

// Addresses above 48 bits are given only to programs that ask for one of them.
inline constexpr int kPcBits = 48;
inline constexpr int kPcShift = 2;

inline constexpr bool kFollowsReturnStates = true;

// xpaclri, which knows how many bits of an address this kernel uses.  Where the processor signs
// nothing it does nothing.  An address that is not signed stays as it is.
inline uintptr_t StripReturnAddress(uintptr_t address) {
  register uintptr_t link __asm__("x30") = address;
  __asm__("hint #7" : "+r"(link));
  return link;
}

class LinkRegister {
 public:
  explicit LinkRegister(const FrameState& frame) : value_(frame.link) {}
  bool IsKnown() const { return value_ != 0; }
  void Clear() { value_ = 0; }
  void PutInto(FrameState* frame) const { frame->link = value_; }

 private:
  uintptr_t value_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_AARCH64_REGISTERS_H_
