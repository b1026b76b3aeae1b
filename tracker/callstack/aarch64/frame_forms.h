// frame_forms.h for 64-bit Arm: a function stores the caller's x29 and, in the word above it, the
// return address; x29 then points to the two (AAPCS64, "The Frame Pointer").  The place of this
// pair in the frame is free, and only unwind tables say where the caller's sp is.
//
// Where there is no table the walk goes along the pairs and knows only a lower bound of sp.  Such
// an sp is odd, so no step takes it for the sp.
#ifndef ALLOMON_TRACKER_CALLSTACK_AARCH64_FRAME_FORMS_H_
#define ALLOMON_TRACKER_CALLSTACK_AARCH64_FRAME_FORMS_H_

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"
#include "tracker/base/page_size.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/callstack/frame_rule.h"
#include "tracker/callstack/rule_cache.h"
#include "tracker/callstack/stack_window.h"
#include "tracker/callstack/walk_state.h"

namespace allomon::internal {

inline constexpr bool kReturnsBesideBp = true;

// The pair at bp_at led to the state.
ALLOMON_READS_STACK inline uintptr_t LoadReturnAddress(uintptr_t, uintptr_t bp_at) {
  return StripReturnAddress(StackWindow::LoadUnchecked(bp_at + kWord));
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
  // bp_bytes >= 16 and cfa <= high, so the pair cannot be too high.
  const uintptr_t pair = cfa - rule.bp_bytes();
  if (pair < *sp || pair > cfa) return false;
  *bp = StackWindow::LoadUnchecked(pair);
  *pc = StripReturnAddress(StackWindow::LoadUnchecked(pair + kWord));
  *sp = cfa;
  how->how_reached = pair;
  how->how_left = from_sp ? uintptr_t{0} : uintptr_t{RecordedFrame::kNeedsBp};
  return true;
}

// Returns the row as a kFromSp, kFromBp or kLinkOnly rule, or kInterpret.
inline FrameRule PackRow(const CfiRow& row) {
  constexpr FrameRule kNotPacked(FrameRule::kInterpret);
  const RegisterRule& bp = row.frame_pointer;
  const RegisterRule& link = row.return_address;
  if (row.cfa.is_expression || link.kind != RegisterRule::kAtCfa) return kNotPacked;
  const bool from_bp = row.cfa.base_register == kDwarfFp;
  if (!from_bp && row.cfa.base_register != kDwarfSp) return kNotPacked;
  const uint64_t cfa_bytes = static_cast<uint64_t>(row.cfa.offset);
  const uint64_t link_bytes = 0 - static_cast<uint64_t>(link.offset);
  if (bp.kind == RegisterRule::kSame) {
    const bool fits = !from_bp && link_bytes != 0 && FrameRule::Fits(cfa_bytes, link_bytes);
    return fits ? FrameRule(FrameRule::kLinkOnly, cfa_bytes, link_bytes) : kNotPacked;
  }
  const uint64_t bp_bytes = 0 - static_cast<uint64_t>(bp.offset);
  const bool is_pair =
      bp.kind == RegisterRule::kAtCfa && bp_bytes == link_bytes + kWord && link_bytes != 0;
  if (!is_pair || !FrameRule::Fits(cfa_bytes, bp_bytes)) return kNotPacked;
  return FrameRule(from_bp ? FrameRule::kFromBp : FrameRule::kFromSp, cfa_bytes, bp_bytes);
}

inline bool IsLowerBound(uintptr_t sp) { return (sp & 1) != 0; }

inline Step StepByPair(FrameRule rule, StackWindow* window, FrameState* frame) {
  const bool from_bp = rule.kind() == FrameRule::kFromBp;
  uintptr_t cfa = (from_bp ? frame->bp : frame->sp) + rule.cfa_bytes();
  // Behind the prologue x29 points to the pair, so it tells the CFA as well.
  if (!from_bp && IsLowerBound(frame->sp)) cfa = frame->bp + rule.bp_bytes();
  const uintptr_t pair = cfa - rule.bp_bytes();
  uintptr_t bp;
  uintptr_t pc;
  if (!IsAbove(cfa, *frame) || !window->Load(pair, &bp) || !window->Load(pair + kWord, &pc)) {
    return Step::kLost;
  }
  *frame = FrameState{StripReturnAddress(pc), cfa, bp};
  return Step::kCaller;
}

inline Step StepByLink(FrameRule rule, StackWindow* window, FrameState* frame) {
  const uintptr_t cfa = frame->sp + rule.cfa_bytes();
  uintptr_t pc;
  if (!IsAbove(cfa, *frame) || !window->Load(cfa - rule.bp_bytes(), &pc)) return Step::kLost;
  *frame = FrameState{StripReturnAddress(pc), cfa, frame->bp};
  return Step::kCaller;
}

// Whether the code at pc is `mov x8, #139; svc #0`, to which the kernel lets handlers return.  It
// lies in the vDSO, in some kernels with a table that does not lead to the interrupted pc.
inline bool IsSignalReturn(uintptr_t pc) {
  constexpr uint32_t kMovX8 = 0xd2801168;
  constexpr uint32_t kSvc = 0xd4000001;
  constexpr uintptr_t kPageMask = ~uintptr_t{kLeastPageBytes - 1};
  using Word __attribute__((may_alias)) = uint32_t;
  if (pc % sizeof(Word) != 0 || !IsReadablePage(pc & kPageMask)) return false;
  const auto* code = reinterpret_cast<const volatile Word*>(pc);
  if (code[0] != kMovX8) return false;
  const uintptr_t next = (pc + sizeof(Word)) & kPageMask;
  return (next == (pc & kPageMask) || IsReadablePage(next)) && code[1] == kSvc;
}

// At such code sp points to a siginfo_t, which a ucontext_t follows.
inline Step StepFromSignal(StackWindow* window, FrameState* frame) {
  constexpr uintptr_t kRegisters =
      sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, regs);
  static_assert(kRegisters == 128 + 176 + 8);
  const uintptr_t registers = frame->sp + kRegisters;
  FrameState caller = {};
  if (IsLowerBound(frame->sp) || !window->Load(registers + 29 * kWord, &caller.bp) ||
      !window->Load(registers + 30 * kWord, &caller.link) ||
      !window->Load(registers + 31 * kWord, &caller.sp) ||
      !window->Load(registers + 32 * kWord, &caller.pc)) {
    return Step::kLost;
  }
  // The signal may have been taken on another stack, above or below this one.
  *window = StackWindow(caller.sp);
  *frame = caller;
  return Step::kInterrupted;
}

// The convention of code with frame pointers.  In code without them x29 may be anything.
inline Step StepByFramePointer(StackWindow* window, FrameState* frame) {
  if (IsSignalReturn(frame->pc)) return StepFromSignal(window, frame);
  if (frame->bp == 0) return Step::kEnd;
  uintptr_t bp;
  uintptr_t pc;
  if (frame->bp < (frame->sp & ~uintptr_t{1}) || !window->Load(frame->bp, &bp) ||
      !window->Load(frame->bp + kWord, &pc)) {
    return Step::kLost;
  }
  *frame = FrameState{StripReturnAddress(pc), (frame->bp + 2 * kWord) | 1, bp};
  return Step::kCaller;
}

inline Step StepByForm(FrameRule rule, StackWindow* window, FrameState* frame) {
  switch (rule.kind()) {
    case FrameRule::kFromSp:
    case FrameRule::kFromBp:
      return StepByPair(rule, window, frame);
    case FrameRule::kLinkOnly:
      return StepByLink(rule, window, frame);
    default:
      return StepByFramePointer(window, frame);
  }
}

inline bool HasReturnAddress(const FrameState& frame) { return frame.link != 0; }
inline uintptr_t ReturnAddressOf(const FrameState& frame) { return frame.link; }
inline bool IsAtLeaf(uintptr_t cfa, const FrameState& frame) { return cfa == frame.sp; }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_AARCH64_FRAME_FORMS_H_
