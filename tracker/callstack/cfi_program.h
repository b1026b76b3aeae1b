// Runs the call frame instructions of one function up to a pc, and yields the row of the unwind
// table that holds there, for the registers that a call stack needs: the canonical frame address
// (CFA), the frame pointer, and the return address.
//
// No allocation, no lock, async-signal-safe.  Cost: about 80 ns, and 1.8 KiB of stack.
#ifndef ALLOMON_TRACKER_CALLSTACK_CFI_PROGRAM_H_
#define ALLOMON_TRACKER_CALLSTACK_CFI_PROGRAM_H_

#include <cstdint>

#include "tracker/callstack/cfi_entry.h"
#include "tracker/callstack/registers.h"

namespace allomon::internal {

// The place of the caller's value of a register.
struct RegisterRule {
  enum Kind : uint8_t {
    kSame,             // still in the register
    kUndefined,        // nowhere; for the return address: there is no caller
    kAtCfa,            // in memory at CFA + offset
    kAtExpression,     // in memory at the address the expression yields
    kValueExpression,  // is the value of the expression
    kElsewhere,        // in a register or a form that is not followed
  };
  Kind kind = kSame;
  int64_t offset = 0;
  ByteReader expression;
};

struct CfaRule {
  bool is_expression = false;
  uint64_t base_register = 0;
  int64_t offset = 0;
  ByteReader expression;
};

struct CfiRow {
  CfaRule cfa;
  RegisterRule frame_pointer;
  RegisterRule return_address;
  RegisterRule followed;
};

// False if the program is malformed, or uses an instruction that is not known here.  The row has
// the rule of one more register if `followed` is its number.
[[nodiscard]] bool RunCfiProgram(const CfiBytes& bytes, const CfiEntry& entry, uintptr_t pc,
                                 CfiRow* row, uint64_t followed = kDwarfReturn);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CFI_PROGRAM_H_
