// The registers that a walk follows, by DWARF's numbers, and how a return address is written.
//
// A processor's folder defines, in allomon::internal:
//   kDwarfFp, kDwarfSp      the frame pointer and the stack pointer
//   kDwarfReturn            the column of the return address in unwind tables
//   kDwarfPc                the pc, as expressions name it
//   kSavedRegisters         those that a call leaves as they are
//   kPcBits, kPcShift       a pc of user code is below 2^kPcBits, and the low kPcShift bits of two
//                           instructions' addresses are equal
//   kFollowsReturnStates    the call frame instruction 0x2d says that the return address is signed,
//                           or is no longer
//   StripReturnAddress()    a return address without its signature
//   LinkRegister            the return address of a function that has not stored it; an empty type
//                           where calls store it
#ifndef ALLOMON_TRACKER_CALLSTACK_REGISTERS_H_
#define ALLOMON_TRACKER_CALLSTACK_REGISTERS_H_

#if defined(__x86_64__)
#include "tracker/callstack/x86_64/registers.h"
#elif defined(__aarch64__)
#include "tracker/callstack/aarch64/registers.h"
#else
#error "no call stacks on this processor: tracker/callstack has x86_64/ and aarch64/"
#endif

#endif  // ALLOMON_TRACKER_CALLSTACK_REGISTERS_H_
