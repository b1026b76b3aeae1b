#include "tracker/callstack/capture.h"

#if defined(__x86_64__)

#include "tracker/callstack/frame_step.h"
#include "tracker/callstack/rule_cache.h"
#include "tracker/callstack/stack_window.h"

namespace allomon {
namespace {

using internal::FrameRule;
using internal::StackWindow;
using internal::Step;

constexpr uintptr_t kWord = sizeof(uintptr_t);

internal::RuleCache rule_cache;

// The common step.  False, and nothing changed, if the rule is not known, not
// of a simple form, or would read outside of [*sp, high).
ALLOMON_READS_STACK inline bool StepFast(uintptr_t lookup_pc, uintptr_t high,
                                         uintptr_t* pc, uintptr_t* sp,
                                         uintptr_t* bp) {
  FrameRule rule;
  if (!rule_cache.Find(lookup_pc, &rule) || !rule.IsSimple()) return false;
  const uintptr_t base = rule.kind() == FrameRule::kFromSp ? *sp : *bp;
  const uintptr_t cfa = base + rule.cfa_bytes();
  if (cfa <= *sp || cfa > high || cfa % kWord != 0) return false;
  if (rule.bp_bytes() != 0) {
    const uintptr_t saved = cfa - rule.bp_bytes();
    // cfa <= high and bp_bytes >= 8, so it cannot be too high.
    if (saved < *sp || saved > cfa) return false;
    *bp = StackWindow::LoadUnchecked(saved);
  }
  *pc = StackWindow::LoadUnchecked(cfa - kWord);
  *sp = cfa;
  return true;
}

}  // namespace

ALLOMON_READS_STACK size_t CaptureCallstack(FrameState start, uintptr_t* frames,
                                            size_t max_frames,
                                            bool* truncated) {
  uintptr_t pc = start.pc;
  uintptr_t sp = start.sp;
  uintptr_t bp = start.bp;
  StackWindow window(sp);
  // A return address belongs to the instruction before it, which may be the
  // last of its function or of its row; a pc that was interrupted belongs to
  // itself.
  uintptr_t lookup_pc = pc;
  size_t count = 0;
  Step step = Step::kCaller;
  // inv.walk.ends: each turn writes a frame or leaves.
  while (pc != 0 && count < max_frames) {
    frames[count++] = pc;
    if (__builtin_expect(StepFast(lookup_pc, window.high(), &pc, &sp, &bp),
                         true)) {
      lookup_pc = pc - 1;
      continue;
    }
    FrameState frame = {pc, sp, bp};
    step = StepToCallerSlow(lookup_pc, &rule_cache, &window, &frame);
    if (step == Step::kEnd || step == Step::kLost) break;
    pc = frame.pc;
    sp = frame.sp;
    bp = frame.bp;
    lookup_pc = step == Step::kInterrupted ? pc : pc - 1;
  }
  *truncated = step == Step::kLost || (step != Step::kEnd && pc != 0);
  return count;
}

void ForgetUnloadedCode() { rule_cache.Clear(); }

}  // namespace allomon

#endif  // defined(__x86_64__)
