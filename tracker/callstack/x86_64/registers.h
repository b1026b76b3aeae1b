// registers.h for x86-64: a call stores the return address below the caller's sp, unsigned.
#ifndef ALLOMON_TRACKER_CALLSTACK_X86_64_REGISTERS_H_
#define ALLOMON_TRACKER_CALLSTACK_X86_64_REGISTERS_H_

#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

inline constexpr uint64_t kDwarfRbx = 3;
inline constexpr uint64_t kDwarfRbp = 6;
inline constexpr uint64_t kDwarfRsp = 7;
inline constexpr uint64_t kDwarfR12 = 12;
inline constexpr uint64_t kDwarfR15 = 15;
inline constexpr uint64_t kDwarfRip = 16;

// A function that changes one of these stores the caller's value first.
inline constexpr uint64_t kSavedRegisters[] = {kDwarfRbx, kDwarfRbp, 12, 13, 14, 15};

inline constexpr uint64_t kDwarfFp = kDwarfRbp;
inline constexpr uint64_t kDwarfSp = kDwarfRsp;
inline constexpr uint64_t kDwarfReturn = kDwarfRip;
inline constexpr uint64_t kDwarfPc = kDwarfRip;

// Linux gives 47 bits to user code by default.
inline constexpr int kPcBits = 47;
inline constexpr int kPcShift = 0;

inline constexpr bool kFollowsReturnStates = false;

inline uintptr_t StripReturnAddress(uintptr_t address) { return address; }

class LinkRegister {
 public:
  explicit LinkRegister(const FrameState&) {}
  static constexpr bool IsKnown() { return false; }
  void Clear() {}
  void PutInto(FrameState*) const {}
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_X86_64_REGISTERS_H_
