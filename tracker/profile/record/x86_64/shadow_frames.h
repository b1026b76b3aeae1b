// shadow_frames.h for x86-64: a call pushes the return address, whose place is the frame.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_X86_64_SHADOW_FRAMES_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_X86_64_SHADOW_FRAMES_H_

#include "tracker/profile/record/shadow_entry.h"

namespace allomon::internal {

inline constexpr bool kReturnAddressHasAPlace = true;

inline bool ReturnAddressIsGone(const ShadowEntry& entry, uintptr_t, uintptr_t, const StackRange&,
                                bool) {
  return StackWord(entry.frame) != entry.return_address;
}

inline uintptr_t BodyOf(uintptr_t hook) { return hook; }

inline bool IsPopped(const ShadowEntry& entry, uintptr_t frame) { return entry.frame <= frame; }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_X86_64_SHADOW_FRAMES_H_
