#include "tests/callstack/replay_checking.h"

#include <cstring>

#include "tracker/callstack/capture.h"

namespace allomon::testing {

bool Same(const Stack& a, const Stack& b) {
  return a.count == b.count && a.truncated == b.truncated &&
         memcmp(a.frames, b.frames, a.count * sizeof(a.frames[0])) == 0;
}

void Capture(FrameState start, size_t max_frames, Stack* stack) {
  stack->count = CaptureCallstackWithSerial(start, stack->frames, max_frames, &stack->truncated,
                                            &stack->serial);
}

void CaptureAfresh(FrameState start, size_t max_frames, Stack* stack) {
  stack->serial = 0;
  stack->count = CaptureCallstackAfresh(start, stack->frames, max_frames, &stack->truncated);
}

__attribute__((noinline)) void Checker::Check(FrameState start, size_t max_frames) {
  const uint64_t last = with_last_serial.serial;
  const bool asked = last != 0 && max_frames == last_max_frames;
  const bool foreseen = asked && HasSerial(start, last);
  Capture(start, max_frames, &got);
  CaptureAfresh(start, max_frames, &expected);
  ++tally->captures;
  if (!Same(got, expected)) ++tally->wrong;
  // A handler that captures between the query and the capture gives the same stack another serial.
  if (foreseen ? !Same(with_last_serial, expected) : asked && got.serial == last) {
    ++tally->wrong;
  }
  if (got.serial == 0) {
    ++tally->bypassed;
  } else if (got.serial == with_last_serial.serial) {
    ++tally->repeated;
    if (!Same(got, with_last_serial)) ++tally->wrong;
  }
  if (foreseen) ++tally->foreseen;
  with_last_serial = got;
  last_max_frames = max_frames;
}

size_t AnyRoom(Dice* dice) { return dice->Roll(2) == 0 ? kRoom : dice->Roll(40); }

namespace {

__attribute__((noinline)) void CheckHere(Recursion* recursion) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  const FrameState here = ALLOMON_CALLER_FRAME();
  checker->Check(here, AnyRoom(&recursion->dice));
  if (recursion->dice.Roll(8) == 0) checker->Check(here, kRoom);
  if (recursion->dice.Roll(8) == 0) checker->Check(here, kRoom);
}

}  // namespace

void RecurseChecking(uint64_t seed, uint32_t max_depth, int calls, Tally* tally) {
  Checker checker = {};
  checker.tally = tally;
  Recursion recursion = {};
  recursion.dice.state = seed;
  recursion.visit = CheckHere;
  recursion.argument = &checker;
  recursion.max_depth = max_depth;
  recursion.calls_left = calls;
  Recurse(&recursion);
}

}  // namespace allomon::testing
