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

// The common step, with everything in registers.  False, and nothing changed, if the
// rule is not of a simple form or would read outside of [frame.sp, high).
ALLOMON_READS_STACK inline bool StepFast(FrameRule rule, uintptr_t high, FrameState* frame) {
  if (!rule.IsSimple()) return false;
  const uintptr_t base = rule.kind() == FrameRule::kFromSp ? frame->sp : frame->bp;
  const uintptr_t cfa = base + rule.cfa_bytes();
  if (cfa <= frame->sp || cfa > high || cfa % kWord != 0) return false;
  if (rule.bp_bytes() != 0) {
    const uintptr_t saved = cfa - rule.bp_bytes();
    // cfa <= high and bp_bytes >= 8, so it cannot be too high.
    if (saved < frame->sp || saved > cfa) return false;
    frame->bp = StackWindow::LoadUnchecked(saved);
  }
  frame->pc = StackWindow::LoadUnchecked(cfa - kWord);
  frame->sp = cfa;
  return true;
}

}  // namespace

ALLOMON_READS_STACK size_t CaptureCallstack(FrameState start, uintptr_t* frames,
                                            size_t max_frames, bool* truncated) {
  FrameState frame = start;
  StackWindow window(frame.sp);
  // A return address belongs to the instruction before it, which may be the last of
  // its function or of its row; a pc that was interrupted belongs to itself.
  uintptr_t lookup_pc = frame.pc;
  size_t count = 0;
  *truncated = false;
  // inv.walk.ends: each turn writes a frame or leaves.
  for (;;) {
    if (frame.pc == 0) break;
    if (count == max_frames) {
      *truncated = true;
      break;
    }
    frames[count++] = frame.pc;
    const FrameRule rule = rule_cache.Find(lookup_pc);
    if (__builtin_expect(StepFast(rule, window.high(), &frame), true)) {
      lookup_pc = frame.pc - 1;
      continue;
    }
    FrameState next = frame;
    const Step step = StepToCallerSlow(rule, lookup_pc, &rule_cache, &window, &next);
    if (step == Step::kEnd) break;
    if (step == Step::kLost) {
      *truncated = true;
      break;
    }
    frame = next;
    lookup_pc = step == Step::kInterrupted ? frame.pc : frame.pc - 1;
  }
  return count;
}

void ForgetUnloadedCode() { rule_cache.Clear(); }

}  // namespace allomon

#endif  // defined(__x86_64__)
