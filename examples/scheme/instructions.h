// The instructions that compile.cc writes and machine.cc executes.  They compute with an
// accumulator, with the stack, and with the slots of the frame: its arguments, then its local
// variables and intermediate values.
#ifndef ALLOMON_EXAMPLES_SCHEME_INSTRUCTIONS_H_
#define ALLOMON_EXAMPLES_SCHEME_INSTRUCTIONS_H_

#include <cstdint>

namespace scheme {

// The places of the operands of a binary instruction: P the top of the stack, which is popped, A
// the accumulator, L a slot of the frame, I a number in the instruction.
enum Mode : uint16_t { kPA, kAL, kAI, kLA, kIA, kLL, kLI, kModes };

enum Op : uint16_t {
  // Loads, each followed by one that pushes.
  kLoadInteger,  // a
  kPushInteger,
  kLoadConstant,  // a: its number
  kPushConstant,
  kLoadLocal,  // a: slot
  kPushLocal,
  kLoadFree,  // a: variable of the closure
  kPushFree,
  kLoadGlobal,  // a: cell, b: symbol
  kPushGlobal,
  kPush,
  kDrop,       // a values
  kBoxAcc,     // the accumulator into a new box
  kBoxSlot,    // a: a slot's value
  kUnbox,      // the box in the accumulator, by its value
  kSetBox,     // the box on the stack, which is popped
  kSetSlot,    // a: slot
  kSetGlobal,  // a: cell, b: symbol
  kDefineGlobal,
  kPatch,        // closure in slot a: its variable b becomes the value of slot `flag`
  kMakeClosure,  // a: of the inner functions, b: values on the stack
  kJump,
  kJumpIf,  // the accumulator has the truth `flag`
  kLoop,    // a: first slot, b: values on the stack that go there; jumps
  kFrame,   // begins a call, which returns to `jump`
  kCall,    // a: arguments
  kTailCall,
  kReturn,
  kPrimitive,  // a: its number, b: arguments on the stack
  kVectorSet,  // vector, index and accumulator
  kUnderflow,  // the stack's first frame returns
  // The operand is the accumulator, or, of op + 1, slot a.
  kCar,
  kCdr = kCar + 2,
  kCadr = kCdr + 2,
  kIsNull = kCadr + 2,
  kIsPair = kIsNull + 2,
  kNot = kIsPair + 2,
  kIsZero = kNot + 2,
  // op + a Mode
  kBinary = kIsZero + 2,
  kPlus = kBinary,
  kMinus = kPlus + kModes,
  kTimes = kMinus + kModes,
  kIsEqual = kTimes + kModes,
  kIsLess = kIsEqual + kModes,
  kIsGreater = kIsLess + kModes,
  kIsLessEqual = kIsGreater + kModes,
  kIsGreaterEqual = kIsLessEqual + kModes,
  kIsEq = kIsGreaterEqual + kModes,
  kIsEqv = kIsEq + kModes,
  kCons = kIsEqv + kModes,
  kVectorRef = kCons + kModes,
  kQuotient = kVectorRef + kModes,
  kRemainder = kQuotient + kModes,
  kLastOp = kRemainder + kModes
};

// Tests may jump themselves instead of leaving a boolean.
constexpr bool IsTest(int op) {
  return (op >= kIsNull && op < kBinary) || (op >= kIsEqual && op < kCons);
}
// Others may push what they compute.
constexpr bool Computes(int op) {
  return op == kPrimitive || op == kUnbox || (op >= kCar && op < kLastOp && !IsTest(op));
}

}  // namespace scheme

#endif  // ALLOMON_EXAMPLES_SCHEME_INSTRUCTIONS_H_
