#include "tracker/callstack/frame_step.h"

#include "tracker/base/check.h"
#include "tracker/callstack/cfi_expression.h"
#include "tracker/callstack/cfi_index.h"
#include "tracker/callstack/cfi_program.h"

namespace allomon::internal {
namespace {

constexpr uint64_t kWord = sizeof(uintptr_t);

// Each frame on a stack is above the frame that it called (inv.walk.grows).
bool IsAbove(uintptr_t cfa, const FrameState& frame) { return cfa > frame.sp && cfa % kWord == 0; }

// ---- From a row of the unwind table to a rule

// Matches the one expression that compilers emit for a realigned stack, "DW_OP_breg6 -offset;
// DW_OP_deref".
bool IsRealignedCfa(const CfaRule& cfa, uint64_t* offset) {
  constexpr uint8_t kBreg6 = 0x76;
  constexpr uint8_t kDeref = 0x06;
  ByteReader reader = cfa.expression;
  if (!cfa.is_expression || reader.Read<uint8_t>() != kBreg6) return false;
  *offset = 0 - static_cast<uint64_t>(reader.ReadSleb());
  return reader.Read<uint8_t>() == kDeref && reader.ok() && reader.AtEnd();
}

// Matches "DW_OP_breg6 0": saved in the word that bp points to.
bool IsSavedAtBp(const RegisterRule& rule) {
  constexpr uint8_t kBreg6 = 0x76;
  ByteReader reader = rule.expression;
  return rule.kind == RegisterRule::kAtExpression && reader.Read<uint8_t>() == kBreg6 &&
         reader.ReadSleb() == 0 && reader.ok() && reader.AtEnd();
}

bool IsReturnAddressUsual(const RegisterRule& rule) {
  return rule.kind == RegisterRule::kAtCfa && rule.offset == -static_cast<int64_t>(kWord);
}

// Returns the row as a kFromSp, kFromBp or kRealigned rule, or kInterpret.
FrameRule PackRow(const CfiRow& row) {
  constexpr FrameRule kNotPacked(FrameRule::kInterpret);
  const RegisterRule& bp = row.frame_pointer;
  if (!IsReturnAddressUsual(row.return_address)) return kNotPacked;
  uint64_t offset;
  if (IsRealignedCfa(row.cfa, &offset) && IsSavedAtBp(bp) && FrameRule::Fits(offset, 0)) {
    return FrameRule(FrameRule::kRealigned, offset);
  }
  if (row.cfa.is_expression) return kNotPacked;
  const bool from_bp = row.cfa.base_register == kDwarfRbp;
  if (!from_bp && row.cfa.base_register != kDwarfRsp) return kNotPacked;
  uint64_t bp_bytes = 0;
  if (bp.kind == RegisterRule::kAtCfa) {
    bp_bytes = 0 - static_cast<uint64_t>(bp.offset);
    if (bp_bytes == 0) return kNotPacked;
  } else if (bp.kind != RegisterRule::kSame) {
    return kNotPacked;
  }
  const uint64_t cfa_bytes = static_cast<uint64_t>(row.cfa.offset);
  if (!FrameRule::Fits(cfa_bytes, bp_bytes)) return kNotPacked;
  const FrameRule rule(from_bp ? FrameRule::kFromBp : FrameRule::kFromSp, cfa_bytes, bp_bytes);
  ALLOMON_DCHECK("inv.rule.packed", rule.IsSimple() && rule.cfa_bytes() == cfa_bytes);
  ALLOMON_DCHECK_EQ("inv.rule.packed", rule.bp_bytes(), bp_bytes);
  return rule;
}

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
  } else if (IsBeforeFunction(pc)) {
    rule = FrameRule(FrameRule::kEnd);
  }
  CodeModule module;
  if (FindModule(pc, &module)) cache->Store(pc, rule, module.hash);
  return rule;
}

// ---- Taking the step

// Moves to the caller whose return address is just below `cfa`.
Step Return(uintptr_t cfa, uintptr_t bp, StackWindow* window, FrameState* frame) {
  uintptr_t pc;
  if (!IsAbove(cfa, *frame) || !window->Load(cfa - kWord, &pc)) return Step::kLost;
  *frame = FrameState{pc, cfa, bp};
  return Step::kCaller;
}

Step StepSimple(FrameRule rule, StackWindow* window, FrameState* frame) {
  const uintptr_t base = rule.kind() == FrameRule::kFromSp ? frame->sp : frame->bp;
  const uintptr_t cfa = base + rule.cfa_bytes();
  uintptr_t bp = frame->bp;
  if (rule.bp_bytes() != 0 && !window->Load(cfa - rule.bp_bytes(), &bp)) return Step::kLost;
  return Return(cfa, bp, window, frame);
}

Step StepRealigned(FrameRule rule, StackWindow* window, FrameState* frame) {
  uintptr_t cfa;
  uintptr_t bp;
  if (!window->Load(frame->bp - rule.cfa_bytes(), &cfa)) return Step::kLost;
  if (!window->Load(frame->bp, &bp)) return Step::kLost;
  return Return(cfa, bp, window, frame);
}

// The convention of code with frame pointers: bp points to the caller's saved bp, which lies under
// the return address.  In code without frame pointers bp may be anything.
Step StepByFramePointer(StackWindow* window, FrameState* frame) {
  if (frame->bp == 0) return Step::kEnd;
  uintptr_t bp;
  if (frame->bp < frame->sp || !window->Load(frame->bp, &bp)) return Step::kLost;
  return Return(frame->bp + 2 * kWord, bp, window, frame);
}

bool ComputeCfa(const CfaRule& rule, const FrameState& frame, StackWindow* window, uintptr_t* cfa) {
  if (rule.is_expression) {
    return EvaluateCfiExpression(rule.expression, frame, false, 0, window, cfa);
  }
  if (rule.base_register != kDwarfRsp && rule.base_register != kDwarfRbp) return false;
  const uintptr_t base = rule.base_register == kDwarfRsp ? frame.sp : frame.bp;
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
  FrameState caller = {0, cfa, 0};
  if (!Recover(row.return_address, cfa, frame->pc, *frame, window, &caller.pc)) return Step::kLost;
  // A frame pointer that is lost is often never needed again.
  if (!Recover(row.frame_pointer, cfa, frame->bp, *frame, window, &caller.bp)) caller.bp = 0;
  if (entry.signal_frame) {
    // The signal may have been taken on another stack, above or below this one.
    *window = StackWindow(cfa);
    *frame = caller;
    return Step::kInterrupted;
  }
  if (!IsAbove(cfa, *frame)) return Step::kLost;
  ALLOMON_DCHECK_LT("inv.walk.grows", frame->sp, caller.sp);
  *frame = caller;
  return Step::kCaller;
}

}  // namespace

Step StepToCallerSlow(uintptr_t lookup_pc, RuleCache* cache, StackWindow* window,
                      FrameState* frame) {
  FrameRule rule;
  if (!cache->Find(lookup_pc, &rule)) rule = FindRule(lookup_pc, cache);
  switch (rule.kind()) {
    case FrameRule::kFromSp:
    case FrameRule::kFromBp:
      return StepSimple(rule, window, frame);
    case FrameRule::kRealigned:
      return StepRealigned(rule, window, frame);
    case FrameRule::kFramePointer:
      return StepByFramePointer(window, frame);
    case FrameRule::kInterpret:
      return StepByInterpreting(lookup_pc, window, frame);
    case FrameRule::kNone:
    case FrameRule::kEnd:
      break;
  }
  return Step::kEnd;
}

}  // namespace allomon::internal
