#include "tracker/callstack/replay_record.h"

#include "tracker/base/check.h"

namespace allomon::internal {

// All reads of it are volatile, so the compiler keeps it in memory.
const uintptr_t ReplayRecord::kZero[2] = {};

// Single-word stores, here and below: the processor cannot forward two words at once that it has
// just stored one by one.
inline void ReplayRecord::Put(uint32_t i, uintptr_t pc, uintptr_t sp, uintptr_t bp, uintptr_t how) {
  Check& check = checks_[i % kFrames];
  State& state = states_[i % kFrames];
  const uintptr_t slot = how & RecordedFrame::kSlotMask;
  const bool replayable = (how & RecordedFrame::kNotReplayable) == 0;
  const bool compares_bp =
      replayable && (kReturnsBesideBp || (how & RecordedFrame::kNeedsBp) != 0) && slot != 0;
  check.pc = pc;
  check.sp = sp;
  check.bp_at = compares_bp ? reinterpret_cast<const uintptr_t*>(slot) : kZero;
  check.bp_value = compares_bp ? bp : !replayable;
  state.bp = bp;
  state.how = how;
}

// Moves the frames of [begin, from) so that they end at new_from.
void ReplayRecord::MoveInner(uint32_t from, uint32_t new_from) {
  const uint32_t count = from - begin_;
  const uint32_t new_begin = new_from - count;
  // Begins at the side to which the frames move, so that no frame is overwritten before it is
  // copied.
  const bool outwards = static_cast<int32_t>(new_from - from) > 0;
  if (new_from == from) return;
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t k = outwards ? count - 1 - n : n;
    checks_[(new_begin + k) % kFrames] = checks_[(begin_ + k) % kFrames];
    states_[(new_begin + k) % kFrames] = states_[(begin_ + k) % kFrames];
  }
  begin_ = new_begin;
}

// Puts the fresh frames to `at` and on, and computes, from the outermost to the innermost, which
// frames need bp.  `needs_bp`: whether the frame after the fresh ones needs it.  Recorded callees
// that leave bp alone share the first fresh frame's bp, so their need for it may change too.
void ReplayRecord::PutFresh(uint32_t at, bool needs_bp) {
  for (uint32_t n = fresh_; n-- > 0;) {
    const RecordedFrame& fresh = fresh_frames_[n];
    uintptr_t how = fresh.how;
    if ((how & RecordedFrame::kKeepsBp) == 0) {
      needs_bp = (how & RecordedFrame::kNeedsBp) != 0;
    }
    how &= ~uintptr_t{RecordedFrame::kNeedsBp};
    if (needs_bp) how |= RecordedFrame::kNeedsBp;
    Put(at + n, fresh.pc, fresh.sp, fresh.bp, how);
  }
  for (uint32_t i = at; i != begin_ && fresh_ != 0;) {
    --i;
    uintptr_t how = states_[i % kFrames].how;
    if ((how & RecordedFrame::kKeepsBp) == 0) break;
    how &= ~uintptr_t{RecordedFrame::kNeedsBp};
    if (needs_bp) how |= RecordedFrame::kNeedsBp;
    Put(i, pc(i), sp(i), fresh_frames_[0].bp, how);
  }
  fresh_ = 0;
}

bool ReplayRecord::Splice(uint32_t from, uint32_t to, const RecordedFrame& joined) {
  constexpr uintptr_t kOfTheStepOut = RecordedFrame::kNeedsBp | RecordedFrame::kKeepsBp;
  if (from - begin_ + fresh_ >= kFrames) {
    Clear();
    return false;
  }
  ALLOMON_DCHECK_LE("inv.replay.room", fresh_, kFreshFrames);
  const uint32_t at = to - fresh_;
  MoveInner(from, at);
  // The frame at `to` stays: it has fewer than kFrames callees.
  if (end_ - begin_ > kFrames) {
    end_ = begin_ + kFrames;
    is_complete_ = false;
  }
  const uintptr_t how = (joined.how & ~kOfTheStepOut) | (states_[to % kFrames].how & kOfTheStepOut);
  Put(to, joined.pc, joined.sp, joined.bp, how);
  PutFresh(at, (how & RecordedFrame::kNeedsBp) != 0);
  ALLOMON_DCHECK_LE("inv.replay.room", end_ - begin_, kFrames);
  return true;
}

bool ReplayRecord::Append(uint32_t from) {
  const uint32_t room = begin_ + kFrames - from;
  const bool fits = fresh_ <= room;
  if (!fits) fresh_ = room;
  end_ = from + fresh_;
  is_complete_ = false;
  // The callers are not known, so they may need bp.
  ALLOMON_DCHECK_LE("inv.replay.room", end_ - begin_, kFrames);
  PutFresh(from, true);
  return fits;
}

}  // namespace allomon::internal
