// The frames of a thread's last capture, kept so that the next capture need not look up a rule for
// frames that are still there.
//
// A frame's state is (pc, sp, bp, whether pc is looked up unchanged).  The step to its caller is a
// function of that state and of at most two words of the stack: the return address and, depending
// on the rule, the saved bp.  A RecordedFrame holds a state, and the addresses of the words that
// led to it.  Suppose a walk reaches a recorded state, and the words that led from there to the
// next recorded state are unchanged.  Then the walk's next state is that one, and so on by
// induction.  README.md, "Replay", has the whole argument.
//
// A record belongs to one thread.  No allocation, no lock; its user keeps signal handlers out (see
// ReplayThread).
#ifndef ALLOMON_TRACKER_CALLSTACK_REPLAY_RECORD_H_
#define ALLOMON_TRACKER_CALLSTACK_REPLAY_RECORD_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/frame_forms.h"
#include "tracker/callstack/stack_window.h"
#include "tracker/callstack/walk_state.h"

namespace allomon::internal {

// A ring of frames, from the innermost at begin() to end(); indices only grow, and wrap.  A walk
// puts the frames that it finds by itself aside (PushFresh) until it knows which of the recorded
// ones they replace.
class ReplayRecord {
 public:
  static constexpr uint32_t kFrames = 256;
  static constexpr uint32_t kFreshFrames = 112;

  uint32_t begin() const { return begin_; }
  uint32_t end() const { return end_; }
  void Clear() {
    begin_ = end_ = fresh_ = 0;
    is_complete_ = false;
  }

  // Whether the stack ends at end(), by the rule for the last frame alone.
  bool is_complete() const { return is_complete_; }
  void SetComplete() { is_complete_ = true; }

  uintptr_t sp(uint32_t i) const { return checks_[i % kFrames].sp; }
  uintptr_t pc(uint32_t i) const { return checks_[i % kFrames].pc; }

  // Whether the recorded state at i equals the given one in all that decides the rest of the walk.
  bool Matches(uint32_t i, uintptr_t pc, uintptr_t sp, uintptr_t bp, uintptr_t exact_pc) const {
    const Check& check = checks_[i % kFrames];
    const State& state = states_[i % kFrames];
    return check.pc == pc && check.sp == sp && (state.how & RecordedFrame::kExactPc) == exact_pc &&
           (state.bp == bp || (state.how & RecordedFrame::kNeedsBp) == 0);
  }

  // Given that the thread's stack has state `from`: returns the last i, at most `limit`, such that
  // the stack has all states up to i.  Writes the pcs of (from, i] to `frames`, and perhaps more,
  // up to `limit`.
  ALLOMON_READS_STACK uint32_t Confirm(uint32_t from, uint32_t limit, uintptr_t* frames) const;

  // Whether the stack has all states up to `last`, given that it has state `from`.  Writes no
  // frames.
  ALLOMON_READS_STACK bool HasAll(uint32_t from, uint32_t last) const;

  // Whether the stack has the state after i, given that it has the state at i.
  ALLOMON_READS_STACK bool IsNext(uint32_t i) const {
    return Difference(checks_[(i + 1) % kFrames]) == 0;
  }

  // The state at i.  [joined, i] has been confirmed, and bp was the value at `joined`.
  ALLOMON_READS_STACK RecordedFrame Recover(uint32_t i, uint32_t joined, uintptr_t bp) const;

  bool IsFreshFull() const { return fresh_ == kFreshFrames; }
  void PushFresh(const RecordedFrame& frame) { fresh_frames_[fresh_++] = frame; }

  // Replaces the frames of [from, to) by the fresh ones.  `joined` comes after them: it is the
  // recorded frame at `to`, as it was reached from the fresh ones.  False, and the record is empty,
  // if there is no room for the inner frames.
  bool Splice(uint32_t from, uint32_t to, const RecordedFrame& joined);
  // Replaces all frames from `from` on by the fresh ones.  Returns false if some had no room: then
  // there is no room for their callers either.
  bool Append(uint32_t from);

 private:
  // The 32 bytes that confirming a frame reads: the return address, which frame_forms.h finds, must
  // be pc, and *bp_at must be bp_value.  If bp need not be checked, bp_at leads to a word that
  // always has bp_value; if the frame cannot be confirmed, to a word that never has it.
  struct Check {
    uintptr_t pc;
    uintptr_t sp;
    const uintptr_t* bp_at;
    uintptr_t bp_value;
  };
  struct State {
    uintptr_t bp;
    uintptr_t how;
  };

  // Returns the bits in which the stack differs from the recorded values.
  ALLOMON_READS_STACK static uintptr_t Difference(const Check& check) {
    const uintptr_t bp_at = reinterpret_cast<uintptr_t>(check.bp_at);
    return (LoadReturnAddress(check.sp, bp_at) ^ check.pc) |
           (StackWindow::LoadUnchecked(bp_at) ^ check.bp_value);
  }

  ALLOMON_READS_STACK static bool AreThere(const Check* check, const Check* end);
  ALLOMON_READS_STACK bool HasAllWrapped(const Check* first, uint32_t count) const;

  void Put(uint32_t i, uintptr_t pc, uintptr_t sp, uintptr_t bp, uintptr_t how);
  void MoveInner(uint32_t from, uint32_t new_from);
  void PutFresh(uint32_t at, bool needs_bp);

  static const uintptr_t kZero[2];

  uint32_t begin_;
  uint32_t end_;
  uint32_t fresh_;
  bool is_complete_;
  Check checks_[kFrames];
  State states_[kFrames];
  RecordedFrame fresh_frames_[kFreshFrames];
};

inline uint32_t ReplayRecord::Confirm(uint32_t from, uint32_t limit, uintptr_t* frames) const {
  constexpr uint32_t kAtOnce = 4;
  uint32_t i = from + 1;
  // Checks four frames with one branch, if the ring does not wrap there.
  while (limit - i + 1 >= kAtOnce && i % kFrames <= kFrames - kAtOnce) {
    const Check* check = &checks_[i % kFrames];
    const uintptr_t difference =
        Difference(check[0]) | Difference(check[1]) | Difference(check[2]) | Difference(check[3]);
    frames[0] = check[0].pc;
    frames[1] = check[1].pc;
    frames[2] = check[2].pc;
    frames[3] = check[3].pc;
    if (__builtin_expect(difference != 0, false)) break;
    i += kAtOnce;
    frames += kAtOnce;
  }
  while (i != limit + 1) {
    const Check& check = checks_[i % kFrames];
    if (Difference(check) != 0) break;
    *frames++ = check.pc;
    ++i;
  }
  return i - 1;
}

inline bool ReplayRecord::AreThere(const Check* check, const Check* end) {
  // One branch for four frames, as in Confirm().
  for (; end - check >= 4; check += 4) {
    const uintptr_t difference =
        Difference(check[0]) | Difference(check[1]) | Difference(check[2]) | Difference(check[3]);
    if (__builtin_expect(difference != 0, false)) return false;
  }
  for (; check != end; ++check) {
    if (__builtin_expect(Difference(*check) != 0, false)) return false;
  }
  return true;
}

inline bool ReplayRecord::HasAll(uint32_t from, uint32_t last) const {
  const Check* first = &checks_[(from + 1) % kFrames];
  const uint32_t count = last - from;
  if (__builtin_expect(first + count > checks_ + kFrames, false)) {
    return HasAllWrapped(first, count);
  }
  return AreThere(first, first + count);
}

__attribute__((noinline)) inline bool ReplayRecord::HasAllWrapped(const Check* first,
                                                                  uint32_t count) const {
  const Check* const end = checks_ + kFrames;
  return AreThere(first, end) && AreThere(checks_, checks_ + count - (end - first));
}

inline RecordedFrame ReplayRecord::Recover(uint32_t i, uint32_t joined, uintptr_t bp) const {
  constexpr uintptr_t kOfTheStepIn =
      RecordedFrame::kSlotMask | RecordedFrame::kNotReplayable | RecordedFrame::kExactPc;
  RecordedFrame frame = {pc(i), sp(i), bp, states_[i % kFrames].how & kOfTheStepIn};
  // A bp that was not needed was not compared, so the recorded one may be old.
  for (uint32_t k = i; k != joined; --k) {
    const uintptr_t how = states_[k % kFrames].how;
    const uintptr_t slot = how & RecordedFrame::kSlotMask;
    if (slot != 0) {
      frame.bp = StackWindow::LoadUnchecked(slot);
      break;
    }
  }
  return frame;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_REPLAY_RECORD_H_
