// Whether the function of a shadow stack's entry has returned.
//
// A caller may put arguments for another call where the frames of earlier callees were.  So a
// function may have returned although its frame lies above the code that runs.  How that is seen
// depends on where the processor keeps return addresses.
//
// A processor's folder defines, in allomon::internal:
//   kReturnAddressHasAPlace
//                whether the stack has the return address of each function that has not returned
//   ReturnAddressIsGone(entry, record, lowest, stack, is_gone_without_record)
//                whether the return address of a function with a hook is no longer in its place.
//                `record` is the frame pointer of code that runs on `stack`, and records lie at
//                `lowest` or above.  The last argument is the answer if there is no record below
//                the function's frame: neither it nor what it called has stored a return address.
//                x86-64 uses `entry` alone.  Cost: a word on x86-64, up to 64 frame records on
//                64-bit Arm.
//   BodyOf(hook) an address that the unwind table of the function with this hook has, for 64-bit
//                Arm; any of the function on x86-64
//   IsPopped(entry, frame)
//                whether a function with that frame takes the entry off the stack, by its address
//                alone.
// Both are called on the entry's own thread, also in signal handlers, and call nothing.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_SHADOW_FRAMES_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_SHADOW_FRAMES_H_

#include "tracker/profile/record/shadow_entry.h"

#if defined(__x86_64__)
#include "tracker/profile/record/x86_64/shadow_frames.h"
#elif defined(__aarch64__)
#include "tracker/profile/record/aarch64/shadow_frames.h"
#else
#error "no shadow stack on this processor: tracker/profile/record has x86_64/ and aarch64/"
#endif

namespace allomon::internal {

// As seen from code that was called.  False for a scope or a managed call.
__attribute__((always_inline)) inline bool HasReturned(const ShadowEntry& entry, uintptr_t record,
                                                       const StackRange& stack) {
  const auto lowest = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return entry.return_address != 0 && ReturnAddressIsGone(entry, record, lowest, stack, true);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_SHADOW_FRAMES_H_
