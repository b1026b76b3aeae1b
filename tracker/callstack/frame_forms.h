// The forms in which a processor's code keeps the words that lead from a frame to its caller's.
//
// A processor's folder defines, in allomon::internal, beside what registers.h lists:
//   StepFast()             a step of the common form, by the cache alone: two loads
//   PackRow()              a row of an unwind table as a rule of one of the packed forms
//   StepByForm()           a step by a rule of these forms, or by the frame pointer
//   LoadReturnAddress()    the return address that led to a recorded state
//   kReturnsBesideBp       it lies beside the saved bp, so replay compares both or neither
//   HasReturnAddress(), ReturnAddressOf()   of a function that has not stored it
//   IsAtLeaf()             whether the CFA of such a function may be its sp
//   IsSignalReturn(), StepFromSignal()      code to which signal handlers return, and the frame
//                          that the signal interrupted, where unwind tables do not tell
//
// No allocation, no lock, async-signal-safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_FRAME_FORMS_H_
#define ALLOMON_TRACKER_CALLSTACK_FRAME_FORMS_H_

#if defined(__x86_64__)
#include "tracker/callstack/x86_64/frame_forms.h"
#elif defined(__aarch64__)
#include "tracker/callstack/aarch64/frame_forms.h"
#endif

#endif  // ALLOMON_TRACKER_CALLSTACK_FRAME_FORMS_H_
