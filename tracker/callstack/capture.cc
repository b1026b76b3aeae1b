#include "tracker/callstack/capture.h"

#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/callstack/cfi_index.h"
#include "tracker/callstack/frame_forms.h"
#include "tracker/callstack/frame_step.h"
#include "tracker/callstack/interpreters.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/callstack/registers.h"
#include "tracker/callstack/replay_record.h"
#include "tracker/callstack/replay_thread.h"
#include "tracker/callstack/rule_cache.h"
#include "tracker/callstack/stack_window.h"
#include "tracker/callstack/walk_state.h"

namespace allomon {
namespace {

using internal::FastStep;
using internal::FrameRule;
using internal::LinkRegister;
using internal::RecordedFrame;
using internal::ReplayBlock;
using internal::ReplayRecord;
using internal::StackWindow;
using internal::Step;

constexpr uintptr_t kWord = sizeof(uintptr_t);

ALLOMON_LARGE_ZEROS internal::RuleCache rule_cache;

// The position of a walk.
struct Position {
  FrameState frame;
  // The address at which to look up the frame's rule.  A return address belongs to the instruction
  // before it, which may be the last of its function or of its row, so one is subtracted from it.
  // An interrupted pc, and the start, are looked up unchanged.
  uintptr_t lookup_pc;
  StackWindow window;
  size_t count;
};

// Frames are return addresses, which belong to the instruction before them.  An instruction that a
// signal interrupted further out is none, and may be the first of its function: it is written as if
// it had a byte and were over.
constexpr uintptr_t kBeyondInterrupted = 1;

// The start is written as it is.  Recorded frames never are interrupted ones, as these are not
// replayable.
inline uintptr_t AsFrame(uintptr_t pc, uintptr_t how, size_t count) {
  const bool is_interrupted = (how & RecordedFrame::kExactPc) != 0 && count != 0;
  return is_interrupted ? pc + kBeyondInterrupted : pc;
}

// Walks to the end.  `sps` is null, or has room for the sp of each frame and of the frame after the
// last one.
ALLOMON_READS_STACK inline size_t Walk(Position at, uintptr_t* frames, size_t max_frames,
                                       bool* truncated, uintptr_t* sps = nullptr) {
  uintptr_t pc = at.frame.pc;
  uintptr_t sp = at.frame.sp;
  uintptr_t bp = at.frame.bp;
  StackWindow window = at.window;
  uintptr_t lookup_pc = at.lookup_pc;
  size_t count = at.count;
  Step step = Step::kCaller;
  LinkRegister link(at.frame);
  FastStep unused;
  uintptr_t beyond = count != 0 && lookup_pc == pc ? kBeyondInterrupted : 0;
  while (pc != 0 && count < max_frames) {
    [[maybe_unused]] const uintptr_t sp_before = sp;
    if (sps != nullptr) sps[count] = sp;
    frames[count++] = pc + beyond;
    beyond = 0;
    if (__builtin_expect(StepFast(rule_cache, lookup_pc, window.high(), &pc, &sp, &bp, &unused),
                         true)) {
      ALLOMON_DCHECK_LT("inv.walk.grows", sp_before, sp);
      lookup_pc = pc - 1;
      link.Clear();
      continue;
    }
    FrameState frame = {pc, sp, bp};
    link.PutInto(&frame);
    step = StepToCallerSlow(lookup_pc, &rule_cache, &window, &frame);
    if (step == Step::kEnd || step == Step::kLost) break;
    ALLOMON_DCHECK("inv.walk.grows", step == Step::kInterrupted || sp_before < frame.sp ||
                                         (link.IsKnown() && sp_before == frame.sp));
    link = LinkRegister(frame);
    pc = frame.pc;
    sp = frame.sp;
    bp = frame.bp;
    lookup_pc = step == Step::kInterrupted ? pc : pc - 1;
    beyond = step == Step::kInterrupted ? kBeyondInterrupted : 0;
  }
  // If the walk has ended by itself, the last frame is the rest of the stack.
  if (sps != nullptr) sps[count] = step == Step::kEnd || step == Step::kLost ? UINTPTR_MAX : sp;
  *truncated = step == Step::kLost || (step != Step::kEnd && pc != 0);
  return count;
}

__attribute__((noinline)) size_t WalkRest(const Position& at, uintptr_t* frames, size_t max_frames,
                                          bool* truncated) {
  return Walk(at, frames, max_frames, truncated);
}

// Whether a capture is finished that has confirmed the recorded frames up to `last` and has written
// `count` frames.  Sets *truncated if so.
inline bool IsOver(const ReplayRecord& record, uint32_t last, size_t count, size_t max_frames,
                   bool* truncated) {
  if (last + 1 == record.end()) {
    *truncated = false;
    return record.is_complete();
  }
  *truncated = true;
  return count == max_frames && record.IsNext(last);
}

// Confirms recorded frames after `from`, whose pc is the last of the `count` written ones.  Returns
// the last recorded frame that is confirmed.
inline uint32_t ConfirmFrom(const ReplayRecord& record, uint32_t from, uintptr_t* frames,
                            size_t max_frames, size_t* count) {
  const size_t left = record.end() - 1 - from;
  const size_t room = max_frames - *count;
  const uint32_t limit = from + static_cast<uint32_t>(left < room ? left : room);
  const uint32_t last = record.Confirm(from, limit, frames + *count);
  *count += last - from;
  return last;
}

// Walks with the help of the last capture's record, and makes the record this capture's.  The
// result is that of Walk(): README.md, "Replay".  The first `count` frames of the record have been
// confirmed and written.
__attribute__((noinline)) ALLOMON_READS_STACK size_t
WalkWithRecord(const FrameState& start, size_t count, ReplayRecord* record, uintptr_t* frames,
               size_t max_frames, bool* truncated) {
  StackWindow window(start.sp);
  uintptr_t pc = start.pc;
  uintptr_t sp = start.sp;
  uintptr_t bp = start.bp;
  LinkRegister link(start);
  // Tells how the state (pc, sp, bp) was reached.
  uintptr_t how = RecordedFrame::kExactPc | RecordedFrame::kNotReplayable;
  // No frame in [old, end) of the record has a lower sp than `sp`.  The fresh frames replace [from,
  // old).
  uint32_t old = record->begin();
  uint32_t from = old;
  bool has_confirmed = count > 0;
  uint32_t last = old + static_cast<uint32_t>(count) - 1;
  [[maybe_unused]] size_t turns = 0;
  for (;;) {
    // Frames that were confirmed before the first turn count for that turn.
    ALLOMON_DCHECK_LE("inv.walk.ends", turns, count);
    if constexpr (internal::kDebugChecks) ++turns;
    if (!has_confirmed) {
      while (old != record->end() && record->sp(old) < sp) ++old;
      has_confirmed = old != record->end() &&
                      record->Matches(old, pc, sp, bp, how & RecordedFrame::kExactPc) && pc != 0;
      if (has_confirmed) {
        if (!record->Splice(from, old, {pc, sp, bp, how})) {
          const bool is_exact = (how & RecordedFrame::kExactPc) != 0;
          FrameState here = {pc, sp, bp};
          link.PutInto(&here);
          return WalkRest({here, is_exact ? pc : pc - 1, window, count}, frames, max_frames,
                          truncated);
        }
        if (count == max_frames) {
          *truncated = true;
          return count;
        }
        frames[count] = AsFrame(pc, how, count);
        ++count;
        last = ConfirmFrom(*record, old, frames, max_frames, &count);
        if (IsOver(*record, last, count, max_frames, truncated)) return count;
      }
    }
    if (has_confirmed) {
      // The frame at `last` has been written, but the step from there must be taken anew.
      const RecordedFrame frame = record->Recover(last, old, bp);
      pc = frame.pc;
      sp = frame.sp;
      bp = frame.bp;
      how = frame.how;
      if (last != old) link.Clear();
      from = last;
      old = last + 1;
      has_confirmed = false;
    } else if (pc == 0 || count == max_frames) {
      if (pc != 0 && !record->IsFreshFull()) {
        record->PushFresh({pc, sp, bp, how | RecordedFrame::kNeedsBp});
      }
      record->Append(from);
      *truncated = pc != 0;
      return count;
    } else {
      frames[count] = AsFrame(pc, how, count);
      ++count;
    }
    bool has_room = true;
    if (__builtin_expect(record->IsFreshFull(), false)) {
      has_room = record->Append(from);
      old = from = record->end();
    }
    const uintptr_t lookup_pc = (how & RecordedFrame::kExactPc) != 0 ? pc : pc - 1;
    FrameState left = {pc, sp, bp};
    link.PutInto(&left);
    FastStep fast;
    if (__builtin_expect(
            has_room && StepFast(rule_cache, lookup_pc, window.high(), &pc, &sp, &bp, &fast),
            true)) {
      ALLOMON_DCHECK_LT("inv.walk.grows", left.sp, sp);
      record->PushFresh({left.pc, left.sp, left.bp, how | fast.how_left});
      how = fast.how_reached;
      link.Clear();
      continue;
    }
    record->PushFresh({left.pc, left.sp, left.bp, how | RecordedFrame::kNeedsBp});
    FrameState frame = left;
    const Step step = StepToCallerSlow(lookup_pc, &rule_cache, &window, &frame);
    if (step == Step::kEnd || step == Step::kLost) {
      has_room &= record->Append(from);
      // The rule alone decided the end, and it stays in force until code is forgotten.
      FrameRule rule;
      if (has_room && step == Step::kEnd && rule_cache.Find(lookup_pc, &rule) &&
          rule.kind() == FrameRule::kEnd) {
        record->SetComplete();
      }
      *truncated = step == Step::kLost;
      return count;
    }
    const bool is_exact = step == Step::kInterrupted;
    // The frame that a signal interrupted may be on another stack.
    if (!has_room || (is_exact && (frame.sp < left.sp + kWord || !window.IsOwnStack()))) {
      record->Append(from);
      return WalkRest({frame, is_exact ? frame.pc : frame.pc - 1, window, count}, frames,
                      max_frames, truncated);
    }
    ALLOMON_DCHECK("inv.walk.grows",
                   left.sp < frame.sp || is_exact || (link.IsKnown() && left.sp == frame.sp));
    link = LinkRegister(frame);
    pc = frame.pc;
    sp = frame.sp;
    bp = frame.bp;
    how = RecordedFrame::kNotReplayable;
    if (is_exact) how |= RecordedFrame::kExactPc;
  }
}

// Returns how many of the recorded states decide the outcome of the capture that has just ended:
// the states that IsOver() checks, counted in advance.  0: the record does not decide.
uint32_t DecisiveStates(const ReplayRecord& record, size_t count, size_t max_frames,
                        bool truncated) {
  const uint32_t recorded = record.end() - record.begin();
  // Includes one caller beyond the written frames, because the stack's continuation is part of the
  // outcome.
  if (truncated)
    return count == max_frames && recorded > count ? static_cast<uint32_t>(count) + 1 : 0;
  return record.is_complete() && recorded == count ? recorded : 0;
}

// Whether a walk of the thread's own stack that starts at `sp` cannot read the given bytes.  A
// made-up start may lead a walk through memory that the capture itself writes.
[[maybe_unused]] bool IsOutside(uintptr_t sp, const void* begin, size_t size_bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  return address + size_bytes <= sp || address >= StackWindow(sp).high();
}

// Checks a capture with a record against the same walk without one.  Called only in builds with
// checks.
[[maybe_unused]] __attribute__((noinline)) ALLOMON_READS_STACK void CheckAgainstFullWalk(
    const FrameState& start, const uintptr_t* frames, size_t max_frames, size_t count,
    bool truncated) {
  // Captures run on stacks of any size.
  constexpr size_t kMostFrames = 256;
  if (count > kMostFrames) return;
  uintptr_t expected[kMostFrames + 1];
  bool expected_truncated;
  // Room for one frame more than was found, so that a walk which continues beyond the capture's end
  // is noticed.
  const size_t room = count < max_frames ? count + 1 : count;
  const size_t expected_count =
      WalkRest({start, start.pc, StackWindow(start.sp), 0}, expected, room, &expected_truncated);
  ALLOMON_DCHECK_EQ("inv.replay.exact", count, expected_count);
  ALLOMON_DCHECK_EQ("inv.replay.exact", truncated, expected_truncated);
  ALLOMON_DCHECK("inv.replay.exact", memcmp(frames, expected, count * kWord) == 0);
}

// Inlined into each function that captures, because passing a FrameState on waits for its words to
// be stored.
ALLOMON_READS_STACK __attribute__((always_inline)) inline size_t Capture(const FrameState& start,
                                                                         uintptr_t* frames,
                                                                         size_t max_frames,
                                                                         bool* truncated,
                                                                         uint64_t* serial) {
  if (__builtin_expect(!StackWindow::IsKnownOwn(start.sp), false)) {
    const StackWindow window(start.sp);
    if (!window.IsOwnStack()) {
      *serial = 0;
      return WalkRest({start, start.pc, window, 0}, frames, max_frames, truncated);
    }
  }
  ReplayBlock* block = internal::OpenReplay();
  if (__builtin_expect(block == nullptr, false)) {
    *serial = 0;
    return WalkRest({start, start.pc, StackWindow(start.sp), 0}, frames, max_frames, truncated);
  }
  ReplayRecord& record = block->record;
  const uint32_t begin = record.begin();
  size_t count = 0;
  bool is_over = false;
  if (begin != record.end() && max_frames != 0 &&
      record.Matches(begin, start.pc, start.sp, start.bp, RecordedFrame::kExactPc)) {
    frames[count++] = start.pc;
    const uint32_t last = ConfirmFrom(record, begin, frames, max_frames, &count);
    is_over = IsOver(record, last, count, max_frames, truncated);
  }
  if (!is_over) {
    count = WalkWithRecord(start, count, &record, frames, max_frames, truncated);
  }
  if (!is_over || block->count != count || block->truncated != *truncated) {
    block->count = count;
    block->truncated = *truncated;
    ++block->serial;
  }
  block->decisive_states = DecisiveStates(record, count, max_frames, *truncated);
  *serial = block->serial;
  if constexpr (internal::kDebugChecks) {
    if (start.sp >= ALLOMON_INTERNAL_CFA() && IsOutside(start.sp, frames, max_frames * kWord) &&
        IsOutside(start.sp, truncated, 1)) {
      CheckAgainstFullWalk(start, frames, max_frames, count, *truncated);
    }
  }
  internal::CloseReplay();
  return count;
}

// Whether a capture from `start` would have the outcome with this `serial`, by the thread's record
// alone.  Writes no frame.
ALLOMON_READS_STACK inline bool IsUnchanged(const ReplayBlock& block, const FrameState& start,
                                            uint64_t serial) {
  const ReplayRecord& record = block.record;
  const uint32_t begin = record.begin();
  // A start that is recorded lies on the thread's own stack.
  return block.serial == serial && block.decisive_states != 0 && internal::IsOfThisCode(block) &&
         record.Matches(begin, start.pc, start.sp, start.bp, RecordedFrame::kExactPc) &&
         record.HasAll(begin, begin + block.decisive_states - 1);
}

// Whether the thread may have frames that are not native.
inline bool MayHaveManagedFrames() {
  return internal::HasManagedCalls() || internal::HasInterpreters();
}

// Captures while managed calls are open, or interpreters have frames: the walk also gives the place
// of each frame.  It uses no record and gives no serial, so no caller takes a stack for unchanged
// whose managed frames have changed.  Returns false if there are no such frames.
__attribute__((noinline)) ALLOMON_READS_STACK bool CaptureManaged(const FrameState& start,
                                                                  uintptr_t* frames,
                                                                  size_t max_frames,
                                                                  bool* truncated, size_t* depth) {
  internal::AllInterpretedFrames interpreted;
  const bool needs_native = internal::InterpretersNeedNativeFrames();
  if (interpreted.empty() && !internal::HasManagedCalls() && !needs_native) return false;
  uintptr_t* native =
      static_cast<uintptr_t*>(__builtin_alloca((2 * max_frames + 1) * sizeof(uintptr_t)));
  uintptr_t* sps = native + max_frames;
  const size_t count =
      Walk({start, start.pc, StackWindow(start.sp), 0}, native, max_frames, truncated, sps);
  if (needs_native) interpreted.BeginOn({native, sps, count});
  if (interpreted.empty() && !internal::HasManagedCalls()) return false;
  *depth = interpreted.empty()
               ? internal::MergeManagedFrames(native, sps, count, frames, max_frames, truncated)
               : internal::MergeInterpretedFrames(native, sps, count, &interpreted, frames,
                                                  max_frames, truncated);
  return true;
}

}  // namespace

ALLOMON_READS_STACK size_t CaptureCallstack(FrameState start, uintptr_t* frames, size_t max_frames,
                                            bool* truncated) {
  if (__builtin_expect(MayHaveManagedFrames(), false)) {
    size_t depth;
    if (CaptureManaged(start, frames, max_frames, truncated, &depth)) return depth;
  }
  uint64_t serial;
  return Capture(start, frames, max_frames, truncated, &serial);
}

ALLOMON_READS_STACK size_t CaptureCallstackWithSerial(const FrameState& start, uintptr_t* frames,
                                                      size_t max_frames, bool* truncated,
                                                      uint64_t* serial) {
  if (__builtin_expect(MayHaveManagedFrames(), false)) {
    size_t depth;
    *serial = 0;
    if (CaptureManaged(start, frames, max_frames, truncated, &depth)) return depth;
  }
  return Capture(start, frames, max_frames, truncated, serial);
}

ALLOMON_READS_STACK bool HasSerial(const FrameState& start, uint64_t serial) {
  if (__builtin_expect(MayHaveManagedFrames(), false) &&
      (internal::HasManagedCalls() || internal::HasInterpretedFrames())) {
    return false;
  }
  const ReplayBlock* block = internal::OpenKnownReplay();
  if (__builtin_expect(block == nullptr, false)) return false;
  const bool has = IsUnchanged(*block, start, serial);
  internal::CloseReplay();
  return has;
}

size_t CaptureCallstackAfresh(FrameState start, uintptr_t* frames, size_t max_frames,
                              bool* truncated) {
  size_t depth;
  if (MayHaveManagedFrames() && CaptureManaged(start, frames, max_frames, truncated, &depth)) {
    return depth;
  }
  return WalkRest({start, start.pc, StackWindow(start.sp), 0}, frames, max_frames, truncated);
}

ALLOMON_READS_STACK size_t CaptureNativeFrames(const FrameState& start, uintptr_t* frames,
                                               uintptr_t* sps, size_t max_frames) {
  bool truncated;
  return Walk({start, start.pc, StackWindow(start.sp), 0}, frames, max_frames, &truncated, sps);
}

uintptr_t FunctionStart(uintptr_t pc) {
  internal::CfiBytes bytes;
  internal::CfiEntry entry;
  const bool has_entry = internal::FindCfi(pc, &bytes, &entry) == internal::CfiLookup::kFound;
  return has_entry ? entry.pc_begin : pc;
}

void ForgetUnloadedCode() {
  rule_cache.Clear();
  internal::ForgetReplays();
}

// Whether the cache has a rule for pc from another module than the one that is there now.  `module`
// is that of another pc, perhaps the same one.
static bool IsReplaced(uintptr_t pc, internal::CodeModule* module) {
  if (!module->Contains(pc) && !internal::FindModule(pc, module)) return false;
  return rule_cache.IsOfAnotherModule(pc, module->hash);
}

bool ForgetReplacedCode(const uintptr_t* frames, size_t depth) {
  internal::CodeModule module;
  // The first frame may have been looked up by its exact address.
  bool is_replaced = depth != 0 && IsReplaced(frames[0], &module);
  for (size_t i = 0; i < depth && !is_replaced; ++i) {
    is_replaced = IsReplaced(frames[i] - 1, &module);
  }
  if (is_replaced) ForgetUnloadedCode();
  return is_replaced;
}

}  // namespace allomon
