#include "tracker/callstack/capture.h"

#if defined(__x86_64__)

#include "tracker/callstack/frame_step.h"
#include "tracker/callstack/replay_record.h"
#include "tracker/callstack/replay_thread.h"
#include "tracker/callstack/rule_cache.h"
#include "tracker/callstack/stack_window.h"

namespace allomon {
namespace {

using internal::FrameRule;
using internal::RecordedFrame;
using internal::ReplayBlock;
using internal::ReplayRecord;
using internal::StackWindow;
using internal::Step;

constexpr uintptr_t kWord = sizeof(uintptr_t);

internal::RuleCache rule_cache;

// How a step went that reads two words at most: where the caller's bp was
// saved, or 0, and the flags of RecordedFrame::how for the frame it left.
struct FastStep {
  uintptr_t bp_slot;
  uintptr_t how_left;
};

// The common step.  False, and nothing changed, if the rule is not known, not
// of a simple form, or would read outside of [*sp, high).
ALLOMON_READS_STACK inline bool StepFast(uintptr_t lookup_pc, uintptr_t high,
                                         uintptr_t* pc, uintptr_t* sp,
                                         uintptr_t* bp, FastStep* how) {
  FrameRule rule;
  if (!rule_cache.Find(lookup_pc, &rule) || !rule.IsSimple()) return false;
  const bool from_sp = rule.kind() == FrameRule::kFromSp;
  const uintptr_t base = from_sp ? *sp : *bp;
  const uintptr_t cfa = base + rule.cfa_bytes();
  if (cfa <= *sp || cfa > high || cfa % kWord != 0) return false;
  how->bp_slot = 0;
  how->how_left = RecordedFrame::kKeepsBp;
  if (rule.bp_bytes() != 0) {
    const uintptr_t saved = cfa - rule.bp_bytes();
    // cfa <= high and bp_bytes >= 8, so it cannot be too high.
    if (saved < *sp || saved > cfa) return false;
    *bp = StackWindow::LoadUnchecked(saved);
    how->bp_slot = saved;
    how->how_left = 0;
  }
  if (!from_sp) how->how_left = RecordedFrame::kNeedsBp;
  *pc = StackWindow::LoadUnchecked(cfa - kWord);
  *sp = cfa;
  return true;
}

// A walk that has got somewhere.
struct Position {
  FrameState frame;
  // A return address belongs to the instruction before it, which may be the
  // last of its function or of its row; a pc that was interrupted belongs to
  // itself, and so does the start.
  uintptr_t lookup_pc;
  StackWindow window;
  size_t count;
};

// Walks on to the end.
ALLOMON_READS_STACK inline size_t Walk(Position at, uintptr_t* frames,
                                       size_t max_frames, bool* truncated) {
  uintptr_t pc = at.frame.pc;
  uintptr_t sp = at.frame.sp;
  uintptr_t bp = at.frame.bp;
  StackWindow window = at.window;
  uintptr_t lookup_pc = at.lookup_pc;
  size_t count = at.count;
  Step step = Step::kCaller;
  FastStep unused;
  // inv.walk.ends: each turn writes a frame or leaves.
  while (pc != 0 && count < max_frames) {
    frames[count++] = pc;
    if (__builtin_expect(
            StepFast(lookup_pc, window.high(), &pc, &sp, &bp, &unused), true)) {
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

__attribute__((noinline)) size_t WalkRest(const Position& at, uintptr_t* frames,
                                          size_t max_frames, bool* truncated) {
  return Walk(at, frames, max_frames, truncated);
}

// The same by way of the last capture's record, which then is this one's.  Its
// result is that of Walk: README.md, "Replay".
ALLOMON_READS_STACK inline size_t WalkWithRecord(
    FrameState start, StackWindow window, ReplayRecord* record,
    uintptr_t* frames, size_t max_frames, bool* truncated, bool* changed) {
  RecordedFrame now = {start.pc, start.sp, start.bp,
                       RecordedFrame::kExactPc | RecordedFrame::kNotReplayable};
  // [old, end) of the record is not further in than `now`; the fresh frames,
  // which end before `now`, take the place of what is there from `from` on.
  uint32_t old = record->begin();
  uint32_t from = old;
  size_t count = 0;
  *changed = false;
  // Each turn that joins writes a frame; each that does not takes a step, so
  // inv.walk.ends.
  for (;;) {
    const uintptr_t exact_pc = now.how & RecordedFrame::kExactPc;
    while (old != record->end() && record->sp(old) < now.sp) ++old;
    if (now.pc == 0) {
      record->Append(from);
      *changed = true;
      *truncated = false;
      return count;
    }
    if (old != record->end() &&
        record->Matches(old, now.pc, now.sp, now.bp, exact_pc)) {
      if (record->HasFresh() || old != record->begin()) {
        *changed = true;
        if (!record->Splice(from, old, now)) {
          return WalkRest({{now.pc, now.sp, now.bp},
                           exact_pc != 0 ? now.pc : now.pc - 1,
                           window,
                           count},
                          frames, max_frames, truncated);
        }
      }
      if (count == max_frames) {
        *truncated = true;
        return count;
      }
      frames[count++] = now.pc;
      const size_t left = record->end() - 1 - old;
      const size_t room = max_frames - count;
      const uint32_t last = record->Confirm(
          old, old + static_cast<uint32_t>(left < room ? left : room),
          frames + count);
      count += last - old;
      if (last + 1 == record->end()) {
        if (record->is_complete()) {
          *truncated = false;
          return count;
        }
      } else if (count == max_frames && record->IsNext(last)) {
        *truncated = true;
        return count;
      }
      now = record->Recover(last, old, now.bp);
      from = last;
      old = last + 1;
    } else if (count == max_frames) {
      now.how |= RecordedFrame::kNeedsBp;
      if (!record->IsFreshFull()) record->PushFresh(now);
      record->Append(from);
      *changed = true;
      *truncated = true;
      return count;
    } else {
      frames[count++] = now.pc;
    }
    bool has_room = true;
    if (record->IsFreshFull()) {
      has_room = record->Append(from);
      old = from = record->end();
    }
    record->PushFresh(now);
    const uintptr_t lookup_pc =
        (now.how & RecordedFrame::kExactPc) != 0 ? now.pc : now.pc - 1;
    FastStep how;
    if (__builtin_expect(has_room && StepFast(lookup_pc, window.high(), &now.pc,
                                              &now.sp, &now.bp, &how),
                         true)) {
      record->fresh_top()->how |= how.how_left;
      now.how = how.bp_slot;
      continue;
    }
    record->fresh_top()->how |= RecordedFrame::kNeedsBp;
    FrameState frame = {now.pc, now.sp, now.bp};
    const Step step = StepToCallerSlow(lookup_pc, &rule_cache, &window, &frame);
    if (step == Step::kEnd || step == Step::kLost) {
      has_room &= record->Append(from);
      FrameRule rule;
      if (has_room && rule_cache.Find(lookup_pc, &rule) &&
          rule.kind() == FrameRule::kEnd) {
        record->SetComplete();
      }
      *changed = true;
      *truncated = step == Step::kLost;
      return count;
    }
    const bool interrupted = step == Step::kInterrupted;
    // What a signal interrupted may be on another stack.
    if (!has_room ||
        (interrupted && (frame.sp < now.sp + kWord || !window.IsOwnStack()))) {
      record->Append(from);
      *changed = true;
      return WalkRest(
          {frame, interrupted ? frame.pc : frame.pc - 1, window, count}, frames,
          max_frames, truncated);
    }
    now = {frame.pc, frame.sp, frame.bp,
           interrupted ? RecordedFrame::kExactPc | RecordedFrame::kNotReplayable
                       : RecordedFrame::kNotReplayable};
  }
}

}  // namespace

ALLOMON_READS_STACK size_t CaptureCallstackWithSerial(FrameState start,
                                                      uintptr_t* frames,
                                                      size_t max_frames,
                                                      bool* truncated,
                                                      uint64_t* serial) {
  const StackWindow window(start.sp);
  ReplayBlock* block = window.IsOwnStack() ? internal::OpenReplay() : nullptr;
  if (__builtin_expect(block == nullptr, false)) {
    *serial = 0;
    return WalkRest({start, start.pc, window, 0}, frames, max_frames,
                    truncated);
  }
  bool changed;
  const size_t count = WalkWithRecord(start, window, &block->record, frames,
                                      max_frames, truncated, &changed);
  if (changed || block->count != count || block->truncated != *truncated) {
    block->count = count;
    block->truncated = *truncated;
    ++block->serial;
  }
  *serial = block->serial;
  internal::CloseReplay();
  return count;
}

size_t CaptureCallstack(FrameState start, uintptr_t* frames, size_t max_frames,
                        bool* truncated) {
  uint64_t serial;
  return CaptureCallstackWithSerial(start, frames, max_frames, truncated,
                                    &serial);
}

size_t CaptureCallstackAfresh(FrameState start, uintptr_t* frames,
                              size_t max_frames, bool* truncated) {
  return WalkRest({start, start.pc, StackWindow(start.sp), 0}, frames,
                  max_frames, truncated);
}

void ForgetUnloadedCode() {
  rule_cache.Clear();
  internal::ForgetReplays();
}

}  // namespace allomon

#endif  // defined(__x86_64__)
