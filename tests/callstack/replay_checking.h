// Compares a capture that uses the thread's last one with a full capture.
#ifndef ALLOMON_TESTS_CALLSTACK_REPLAY_CHECKING_H_
#define ALLOMON_TESTS_CALLSTACK_REPLAY_CHECKING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/callstack/recursion.h"
#include "tracker/base/frame_state.h"

namespace allomon::testing {

inline constexpr size_t kRoom = 600;

// Has no constructor, so that signal handlers can use it.
struct Stack {
  uintptr_t frames[kRoom];
  size_t count;
  bool truncated;
  uint64_t serial;
};

bool Same(const Stack& a, const Stack& b);

void Capture(FrameState start, size_t max_frames, Stack* stack);
void CaptureAfresh(FrameState start, size_t max_frames, Stack* stack);

struct Tally {
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> bypassed{0};
  std::atomic<uint64_t> repeated{0};
  std::atomic<uint64_t> foreseen{0};
};

// The state for the comparisons of one thread, or of one thread's handler.
struct Checker {
  Tally* tally;
  Stack got;
  Stack expected;
  Stack with_last_serial;
  size_t last_max_frames;

  void Check(FrameState start, size_t max_frames);
};

// Returns room for all frames half of the time, otherwise for few, so that a stack is cut inside
// its record, after it and at its end.
size_t AnyRoom(Dice* dice);

// A random recursion that checks in many of its frames.
void RecurseChecking(uint64_t seed, uint32_t max_depth, int calls, Tally* tally);

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_CALLSTACK_REPLAY_CHECKING_H_
