// shadow_frames.h for 64-bit Arm: a call puts the return address into x30.  A function that calls
// another one stores it in a frame record, beside its caller's x29.  The record lies anywhere in
// the function's frame.
//
// Frame records form a chain from x29 upwards.  A function that has called what runs now has the
// last record below its frame's top, with its return address.  Both compilers make records unless
// -fomit-frame-pointer says otherwise.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_AARCH64_SHADOW_FRAMES_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_AARCH64_SHADOW_FRAMES_H_

#include "tracker/callstack/registers.h"
#include "tracker/profile/record/shadow_entry.h"

namespace allomon::internal {

// A leaf keeps its return address in x30, which its caller keeps until the next call.
inline constexpr bool kReturnAddressHasAPlace = false;

// A longer chain is not followed to its end: where only the outermost occurrence of a function has
// an entry, a deep recursion lies in between.
inline constexpr int kMostRecords = 64;

// A chain that is no chain says nothing, so the entry stays.  Words below `lowest` are not read,
// since they may not be mapped.
__attribute__((always_inline)) inline bool ReturnAddressIsGone(const ShadowEntry& entry,
                                                               uintptr_t record, uintptr_t lowest,
                                                               const StackRange& stack,
                                                               bool is_gone_without_record) {
  uintptr_t last = 0;
  for (int i = 0; i < kMostRecords; ++i) {
    if (record >= entry.frame) {
      if (last == 0) return is_gone_without_record;
      return StripReturnAddress(StackWord(last + sizeof(uintptr_t))) != entry.return_address;
    }
    const bool is_above = record > last && record >= lowest;
    if (!is_above || record % sizeof(uintptr_t) != 0 || !stack.Contains(record)) return false;
    last = record;
    record = StackWord(record);
  }
  return false;
}

// The first instruction after the no-ops that begin at `hook`, of which the first is replaced.  The
// unwind table of a function of g++ begins there.
inline uintptr_t BodyOf(uintptr_t hook) {
  constexpr uint32_t kNop = 0xd503201f;
  do {
    hook += sizeof(uint32_t);
  } while (*reinterpret_cast<const volatile uint32_t*>(hook) == kNop);
  return hook;
}

// The record of a caller may lie where the frame of its callee begins: a scope's entry with the
// same address is the caller's.
inline bool IsPopped(const ShadowEntry& entry, uintptr_t frame) {
  return entry.frame < frame || (entry.frame == frame && entry.return_address != 0);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_AARCH64_SHADOW_FRAMES_H_
