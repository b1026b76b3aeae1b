#include "tracker/callstack/frame_step.h"

#include "tracker/base/check.h"
#include "tracker/callstack/cfi_expression.h"
#include "tracker/callstack/cfi_index.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/callstack/frame_forms.h"
#include "tracker/callstack/registers.h"

namespace allomon::internal {
namespace {

// ---- From a row of the unwind table to a rule

FrameRule RuleOf(const CfiEntry& entry, const CfiRow& row) {
  if (row.return_address.kind == RegisterRule::kUndefined) return FrameRule(FrameRule::kEnd);
  if (entry.signal_frame) return FrameRule(FrameRule::kInterpret);
  return PackRow(row);
}

// Whether a function starts directly after pc, and pc is in no function.  Such a return address was
// computed from a function's own address, as makecontext does for a fiber's first frame.  No call
// instruction can have left it, so that frame is the outermost.
bool IsBeforeFunction(uintptr_t pc) {
  CfiBytes bytes;
  CfiEntry entry;
  return FindCfi(pc + 1, &bytes, &entry) == CfiLookup::kFound && entry.pc_begin == pc + 1;
}

// Finds the rule for a pc that the cache does not know.  The rule of generated code is not stored,
// because its addresses are used again for other code.
FrameRule FindRule(uintptr_t pc, RuleCache* cache) {
  CfiBytes bytes;
  CfiEntry entry;
  CfiRow row;
  FrameRule rule(FrameRule::kFramePointer);
  const CfiLookup found = FindCfi(pc, &bytes, &entry);
  if (found == CfiLookup::kNoObject) return rule;
  if (found == CfiLookup::kFound) {
    if (RunCfiProgram(bytes, entry, pc, &row)) rule = RuleOf(entry, row);
  } else if (!IsSignalReturn(pc + 1) && IsBeforeFunction(pc)) {
    rule = FrameRule(FrameRule::kEnd);
  }
  CodeModule module;
  if (FindModule(pc, &module)) cache->Store(pc, rule, module.hash);
  return rule;
}

// ---- Taking the step

bool ComputeCfa(const CfaRule& rule, const FrameState& frame, StackWindow* window, uintptr_t* cfa) {
  if (rule.is_expression) {
    return EvaluateCfiExpression(rule.expression, frame, false, 0, window, cfa);
  }
  if (rule.base_register != kDwarfSp && rule.base_register != kDwarfFp) return false;
  const uintptr_t base = rule.base_register == kDwarfSp ? frame.sp : frame.bp;
  *cfa = base + static_cast<uintptr_t>(rule.offset);
  return true;
}

// Computes the caller's value of a register whose value in `frame` is `current`.
bool Recover(const RegisterRule& rule, uintptr_t cfa, uintptr_t current, const FrameState& frame,
             StackWindow* window, uintptr_t* value) {
  switch (rule.kind) {
    case RegisterRule::kSame:
      *value = current;
      return true;
    case RegisterRule::kAtCfa:
      return window->Load(cfa + static_cast<uintptr_t>(rule.offset), value);
    case RegisterRule::kAtExpression: {
      uintptr_t address;
      return EvaluateCfiExpression(rule.expression, frame, true, cfa, window, &address) &&
             window->Load(address, value);
    }
    case RegisterRule::kValueExpression:
      return EvaluateCfiExpression(rule.expression, frame, true, cfa, window, value);
    default:
      return false;
  }
}

// The general case: finds the row again, and evaluates it.
Step StepByInterpreting(uintptr_t lookup_pc, StackWindow* window, FrameState* frame) {
  CfiBytes bytes;
  CfiEntry entry;
  CfiRow row;
  uintptr_t cfa;
  if (FindCfi(lookup_pc, &bytes, &entry) != CfiLookup::kFound ||
      !RunCfiProgram(bytes, entry, lookup_pc, &row) || !ComputeCfa(row.cfa, *frame, window, &cfa)) {
    return StepByFramePointer(window, frame);
  }
  if (entry.signal_frame && IsSignalReturn(frame->pc)) return StepFromSignal(window, frame);
  FrameState caller = {0, cfa, 0};
  const bool is_leaf = row.return_address.kind == RegisterRule::kSame;
  if (is_leaf && !HasReturnAddress(*frame)) return Step::kLost;
  if (!Recover(row.return_address, cfa, ReturnAddressOf(*frame), *frame, window, &caller.pc)) {
    return Step::kLost;
  }
  caller.pc = StripReturnAddress(caller.pc);
  // A frame pointer that is lost is often never needed again.
  if (!Recover(row.frame_pointer, cfa, frame->bp, *frame, window, &caller.bp)) caller.bp = 0;
  if (entry.signal_frame) {
    // The signal may have been taken on another stack, above or below this one.
    *window = StackWindow(cfa);
    *frame = caller;
    return Step::kInterrupted;
  }
  if (!IsAbove(cfa, *frame) && !(is_leaf && IsAtLeaf(cfa, *frame))) return Step::kLost;
  ALLOMON_DCHECK("inv.walk.grows", is_leaf || frame->sp < caller.sp);
  *frame = caller;
  return Step::kCaller;
}

}  // namespace

Step StepToCallerSlow(uintptr_t lookup_pc, RuleCache* cache, StackWindow* window,
                      FrameState* frame) {
  FrameRule rule;
  if (!cache->Find(lookup_pc, &rule)) rule = FindRule(lookup_pc, cache);
  switch (rule.kind()) {
    case FrameRule::kInterpret:
      return StepByInterpreting(lookup_pc, window, frame);
    case FrameRule::kNone:
    case FrameRule::kEnd:
      return Step::kEnd;
    default:
      return StepByForm(rule, window, frame);
  }
}

}  // namespace allomon::internal
