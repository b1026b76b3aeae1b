#include "tracker/callstack/replay_record.h"

namespace allomon::internal {

// Volatile reads of it are all there are, so it exists.
const uintptr_t ReplayRecord::kZero = 0;

inline void ReplayRecord::Put(uint32_t i, const RecordedFrame& frame) {
  Check check = {frame.pc, frame.sp, &kZero, 0};
  const uintptr_t slot = frame.bp_slot();
  if ((frame.how & RecordedFrame::kNotReplayable) != 0) {
    check.bp_value = 1;
  } else if ((frame.how & RecordedFrame::kNeedsBp) != 0 && slot != 0) {
    check.bp_at = reinterpret_cast<const uintptr_t*>(slot);
    check.bp_value = frame.bp;
  }
  checks_[i % kFrames] = check;
  states_[i % kFrames] = {frame.bp, frame.how};
}

// Moves the frames of [begin, from) so that they end at new_from.
void ReplayRecord::MoveInner(uint32_t from, uint32_t new_from) {
  const uint32_t count = from - begin_;
  const uint32_t new_begin = new_from - count;
  // Towards the side that the frames do not come from.
  const bool outwards = static_cast<int32_t>(new_from - from) > 0;
  if (new_from == from) return;
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t k = outwards ? count - 1 - n : n;
    checks_[(new_begin + k) % kFrames] = checks_[(begin_ + k) % kFrames];
    states_[(new_begin + k) % kFrames] = states_[(begin_ + k) % kFrames];
  }
  begin_ = new_begin;
}

// Puts the fresh frames to `at` and on, and works out, from the outermost
// inwards, who needs bp.  Frames that were recorded before and leave bp alone
// may have to change their minds: they share the first fresh frame's bp.
void ReplayRecord::PutFresh(uint32_t at, bool needs_bp) {
  for (uint32_t n = fresh_; n-- > 0;) {
    RecordedFrame frame = fresh_frames_[n];
    if ((frame.how & RecordedFrame::kKeepsBp) == 0) {
      needs_bp = (frame.how & RecordedFrame::kNeedsBp) != 0;
    }
    frame.how &= ~uintptr_t{RecordedFrame::kNeedsBp};
    if (needs_bp) frame.how |= RecordedFrame::kNeedsBp;
    Put(at + n, frame);
  }
  for (uint32_t i = at; i != begin_ && fresh_ != 0;) {
    --i;
    uintptr_t how = states_[i % kFrames].how;
    if ((how & RecordedFrame::kKeepsBp) == 0) break;
    how &= ~uintptr_t{RecordedFrame::kNeedsBp};
    if (needs_bp) how |= RecordedFrame::kNeedsBp;
    Put(i, {pc(i), sp(i), fresh_frames_[0].bp, how});
  }
  fresh_ = 0;
}

bool ReplayRecord::Splice(uint32_t from, uint32_t to, const RecordedFrame& joined) {
  constexpr uintptr_t kOfTheStepOut = RecordedFrame::kNeedsBp | RecordedFrame::kKeepsBp;
  if (from - begin_ + fresh_ >= kFrames) {
    Clear();
    return false;
  }
  const uint32_t at = to - fresh_;
  MoveInner(from, at);
  // `to` stays: fewer than kFrames lie further in.
  if (end_ - begin_ > kFrames) {
    end_ = begin_ + kFrames;
    is_complete_ = false;
  }
  RecordedFrame frame = joined;
  frame.how &= ~kOfTheStepOut;
  frame.how |= states_[to % kFrames].how & kOfTheStepOut;
  Put(to, frame);
  PutFresh(at, (frame.how & RecordedFrame::kNeedsBp) != 0);
  return true;
}

bool ReplayRecord::Append(uint32_t from) {
  const uint32_t room = begin_ + kFrames - from;
  const bool fits = fresh_ <= room;
  if (!fits) fresh_ = room;
  end_ = from + fresh_;
  is_complete_ = false;
  // Nobody knows what is further out, so it may need bp.
  PutFresh(from, true);
  return fits;
}

}  // namespace allomon::internal
