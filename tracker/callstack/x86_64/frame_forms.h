// frame_forms.h for x86-64: a call stores the return address below the caller's sp, which is the
// CFA, and functions that use bp store it somewhere below that.
#ifndef ALLOMON_TRACKER_CALLSTACK_X86_64_FRAME_FORMS_H_
#define ALLOMON_TRACKER_CALLSTACK_X86_64_FRAME_FORMS_H_

#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/frame_state.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/callstack/frame_rule.h"
#include "tracker/callstack/rule_cache.h"
#include "tracker/callstack/stack_window.h"
#include "tracker/callstack/walk_state.h"

namespace allomon::internal {

inline constexpr bool kReturnsBesideBp = false;

ALLOMON_READS_STACK inline uintptr_t LoadReturnAddress(uintptr_t sp, uintptr_t) {
  return StackWindow::LoadUnchecked(sp - kWord);
}

// Takes a common step.  Returns false and changes nothing if the rule is not known, is not of a
// simple form, or would read outside of [*sp, high).
ALLOMON_READS_STACK inline bool StepFast(const RuleCache& cache, uintptr_t lookup_pc,
                                         uintptr_t high, uintptr_t* pc, uintptr_t* sp,
                                         uintptr_t* bp, FastStep* how) {
  FrameRule rule;
  if (!cache.Find(lookup_pc, &rule) || !rule.IsSimple()) return false;
  const bool from_sp = rule.kind() == FrameRule::kFromSp;
  const uintptr_t base = from_sp ? *sp : *bp;
  const uintptr_t cfa = base + rule.cfa_bytes();
  if (cfa <= *sp || cfa > high || cfa % kWord != 0) return false;
  how->how_reached = 0;
  how->how_left = RecordedFrame::kKeepsBp;
  if (rule.bp_bytes() != 0) {
    const uintptr_t saved = cfa - rule.bp_bytes();
    // cfa <= high and bp_bytes >= 8, so it cannot be too high.
    if (saved < *sp || saved > cfa) return false;
    *bp = StackWindow::LoadUnchecked(saved);
    how->how_reached = saved;
    how->how_left = 0;
  }
  if (!from_sp) how->how_left = RecordedFrame::kNeedsBp;
  *pc = StackWindow::LoadUnchecked(cfa - kWord);
  *sp = cfa;
  return true;
}

// Matches the one expression that compilers emit for a realigned stack, "DW_OP_breg6 -offset;
// DW_OP_deref".
inline bool IsRealignedCfa(const CfaRule& cfa, uint64_t* offset) {
  constexpr uint8_t kBreg6 = 0x76;
  constexpr uint8_t kDeref = 0x06;
  ByteReader reader = cfa.expression;
  if (!cfa.is_expression || reader.Read<uint8_t>() != kBreg6) return false;
  *offset = 0 - static_cast<uint64_t>(reader.ReadSleb());
  return reader.Read<uint8_t>() == kDeref && reader.ok() && reader.AtEnd();
}

// Matches "DW_OP_breg6 0": saved in the word that bp points to.
inline bool IsSavedAtBp(const RegisterRule& rule) {
  constexpr uint8_t kBreg6 = 0x76;
  ByteReader reader = rule.expression;
  return rule.kind == RegisterRule::kAtExpression && reader.Read<uint8_t>() == kBreg6 &&
         reader.ReadSleb() == 0 && reader.ok() && reader.AtEnd();
}

inline bool IsReturnAddressUsual(const RegisterRule& rule) {
  return rule.kind == RegisterRule::kAtCfa && rule.offset == -static_cast<int64_t>(kWord);
}

// Returns the row as a kFromSp, kFromBp or kRealigned rule, or kInterpret.
inline FrameRule PackRow(const CfiRow& row) {
  constexpr FrameRule kNotPacked(FrameRule::kInterpret);
  const RegisterRule& bp = row.frame_pointer;
  if (!IsReturnAddressUsual(row.return_address)) return kNotPacked;
  uint64_t offset;
  if (IsRealignedCfa(row.cfa, &offset) && IsSavedAtBp(bp) && FrameRule::Fits(offset, 0)) {
    return FrameRule(FrameRule::kRealigned, offset);
  }
  if (row.cfa.is_expression) return kNotPacked;
  const bool from_bp = row.cfa.base_register == kDwarfFp;
  if (!from_bp && row.cfa.base_register != kDwarfSp) return kNotPacked;
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

// Moves to the caller whose return address is just below `cfa`.
inline Step Return(uintptr_t cfa, uintptr_t bp, StackWindow* window, FrameState* frame) {
  uintptr_t pc;
  if (!IsAbove(cfa, *frame) || !window->Load(cfa - kWord, &pc)) return Step::kLost;
  *frame = FrameState{pc, cfa, bp};
  return Step::kCaller;
}

inline Step StepSimple(FrameRule rule, StackWindow* window, FrameState* frame) {
  const uintptr_t base = rule.kind() == FrameRule::kFromSp ? frame->sp : frame->bp;
  const uintptr_t cfa = base + rule.cfa_bytes();
  uintptr_t bp = frame->bp;
  if (rule.bp_bytes() != 0 && !window->Load(cfa - rule.bp_bytes(), &bp)) return Step::kLost;
  return Return(cfa, bp, window, frame);
}

inline Step StepRealigned(FrameRule rule, StackWindow* window, FrameState* frame) {
  uintptr_t cfa;
  uintptr_t bp;
  if (!window->Load(frame->bp - rule.cfa_bytes(), &cfa)) return Step::kLost;
  if (!window->Load(frame->bp, &bp)) return Step::kLost;
  return Return(cfa, bp, window, frame);
}

// The convention of code with frame pointers: bp points to the caller's saved bp, which lies under
// the return address.  In code without frame pointers bp may be anything.
inline Step StepByFramePointer(StackWindow* window, FrameState* frame) {
  if (frame->bp == 0) return Step::kEnd;
  uintptr_t bp;
  if (frame->bp < frame->sp || !window->Load(frame->bp, &bp)) return Step::kLost;
  return Return(frame->bp + 2 * kWord, bp, window, frame);
}

inline Step StepByForm(FrameRule rule, StackWindow* window, FrameState* frame) {
  switch (rule.kind()) {
    case FrameRule::kFromSp:
    case FrameRule::kFromBp:
      return StepSimple(rule, window, frame);
    case FrameRule::kRealigned:
      return StepRealigned(rule, window, frame);
    default:
      return StepByFramePointer(window, frame);
  }
}

// A row that leaves the return address alone is followed by code that jumps to itself; no function
// has one.
inline bool HasReturnAddress(const FrameState&) { return true; }
inline uintptr_t ReturnAddressOf(const FrameState& frame) { return frame.pc; }
inline bool IsAtLeaf(uintptr_t, const FrameState&) { return false; }

// The C library's way back from a handler has an unwind table.
inline bool IsSignalReturn(uintptr_t) { return false; }
inline Step StepFromSignal(StackWindow*, FrameState*) { return Step::kLost; }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_X86_64_FRAME_FORMS_H_
