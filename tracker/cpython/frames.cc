#include "tracker/cpython/frames.h"

#include <cstring>

#include "tracker/base/check.h"
#include "tracker/callstack/readable_memory.h"

namespace allomon::cpython {
namespace {

using internal::InterpretedFrame;
using internal::InterpreterWalk;
using internal::kWalkEnd;
using internal::kWalkFrame;
using internal::kWalkLost;
using internal::ReadableMemory;

// Owners of a frame.
constexpr uint8_t kOwnedByGenerator = 1;
// Owners from this value on are the interpreter itself: the frame stands for the native loop, on
// whose stack it lies.
constexpr uint8_t kOwnedByLoop = 3;

// The maximum number of frames of one native loop in the search for its end.  Deeper recursions
// have no native frame: they get the place of the previous frame.
constexpr int kMostFramesOfLoop = 10000;
// Maximum number of the interpreter's own frames in a row.
constexpr int kMostLoopsInARow = 100;

// The content of InterpreterWalk::place.
struct Place {
  uintptr_t frame;        // the next one; 0: the end
  uintptr_t native_loop;  // an address in the native frame that runs it; 0: not known yet
  ReadableMemory memory;
};
static_assert(sizeof(Place) <= sizeof(InterpreterWalk::place));
static_assert(alignof(Place) <= alignof(InterpreterWalk));

Place& PlaceOf(InterpreterWalk* walk) { return *reinterpret_cast<Place*>(walk->place); }

// Before 3.12 a frame tells whether its native loop began with it.  From 3.12 on the loop has a
// frame of its own, after that one.
bool MarksEntries(const Layout& layout) { return layout.is_entry != 0; }

// Finds the running frame, and its native loop if that is known.
bool FindCurrent(const Layout& layout, uintptr_t thread, Place* place) {
  if (!place->memory.Load(thread + layout.current_frame, &place->frame)) return false;
  const uintptr_t loop = place->frame;
  if (!layout.has_loops || loop == 0) return true;
  if (MarksEntries(layout)) place->native_loop = loop;
  return place->memory.Load(loop + layout.loop_frame, &place->frame);
}

// Returns the native loop that runs the frame, from 3.12 on: the next of the interpreter's own
// frames.
uintptr_t FindLoop(const Layout& layout, uintptr_t frame, ReadableMemory* memory) {
  for (int i = 0; i < kMostFramesOfLoop && frame != 0; ++i) {
    uint8_t owner;
    if (!memory->Load(frame + layout.owner, &owner)) return 0;
    if (owner >= kOwnedByLoop) return frame;
    if (!memory->Load(frame + layout.caller, &frame)) return 0;
  }
  return 0;
}

// Skips the interpreter's own frames.  False: they cannot be read, or do not end.
bool SkipLoops(const Layout& layout, Place* place) {
  for (int i = 0; i < kMostLoopsInARow && place->frame != 0; ++i) {
    uint8_t owner;
    if (!place->memory.Load(place->frame + layout.owner, &owner)) return false;
    if (owner < kOwnedByLoop) return true;
    place->native_loop = 0;
    if (!place->memory.Load(place->frame + layout.caller, &place->frame)) return false;
  }
  return place->frame == 0;
}

struct FrameWords {
  uintptr_t code;
  uintptr_t caller;
  uintptr_t instruction;
  uint8_t owner;
  uint8_t is_entry;
};

bool Read(const Layout& layout, uintptr_t frame, ReadableMemory* memory, FrameWords* words) {
  if (frame % sizeof(uintptr_t) != 0 || !memory->Covers(frame, kFrameBytes)) return false;
  words->code = ReadableMemory::LoadCovered<uintptr_t>(frame + layout.code);
  words->caller = ReadableMemory::LoadCovered<uintptr_t>(frame + layout.caller);
  words->instruction = ReadableMemory::LoadCovered<uintptr_t>(frame + layout.instruction);
  words->owner = ReadableMemory::LoadCovered<uint8_t>(frame + layout.owner);
  words->is_entry =
      !MarksEntries(layout) ? 0 : ReadableMemory::LoadCovered<uint8_t>(frame + layout.is_entry);
  return true;
}

// Returns false if the instruction is not in this code.
bool PositionOf(const Layout& layout, const FrameWords& words, uint32_t* position) {
  constexpr uintptr_t kMostBytes = uintptr_t{1} << 30;
  const uintptr_t past = words.instruction - (words.code + layout.instructions) + 2;
  if (past % 2 != 0 || past > kMostBytes) return false;
  *position = static_cast<uint32_t>(past / 2);
  ALLOMON_DCHECK_EQ("inv.cpython.position", *position & kOfGenerator, 0u);
  if (words.owner == kOwnedByGenerator) *position |= kOfGenerator;
  return true;
}

// Moves to the caller.  The next native loop may run it; that loop's current frame is then the
// caller.  A frame into which an exception is thrown has no loop of its own, though it may have
// begun one before.
void Leave(const Layout& layout, const FrameWords& words, Place* place) {
  place->frame = words.caller;
  if (!MarksEntries(layout) || words.is_entry == 0) return;
  uintptr_t outer;
  uintptr_t outer_frame;
  if (place->memory.Load(place->native_loop + layout.loop_caller, &outer) && outer != 0 &&
      place->memory.Load(outer + layout.loop_frame, &outer_frame) && outer_frame == words.caller) {
    place->native_loop = outer;
  }
}

}  // namespace

int BeginWalk(void* data, InterpreterWalk* walk) {
  const RunningPython& python = *static_cast<const RunningPython*>(data);
  const uintptr_t thread = python.current_thread(python);
  if (thread == 0) return kWalkEnd;
  Place& place = PlaceOf(walk);
  if (!FindCurrent(python.layout, thread, &place)) return kWalkLost;
  if (place.frame == 0) return kWalkEnd;
  python.watch_code();
  return kWalkFrame;
}

int NextFrame(void* data, InterpreterWalk* walk, InterpretedFrame* frame) {
  const Layout& layout = static_cast<const RunningPython*>(data)->layout;
  Place& place = PlaceOf(walk);
  if (!MarksEntries(layout)) {
    if (!SkipLoops(layout, &place)) return kWalkLost;
    if (place.native_loop == 0) place.native_loop = FindLoop(layout, place.frame, &place.memory);
  }
  if (place.frame == 0) return kWalkEnd;
  FrameWords words;
  if (!Read(layout, place.frame, &place.memory, &words)) return kWalkLost;
  // From 3.14 on the lowest bits of a reference tell whether it is counted.
  words.code &= ~uintptr_t{7};
  frame->code = words.code;
  frame->native_frame = place.native_loop;
  if (!PositionOf(layout, words, &frame->position)) return kWalkLost;
  Leave(layout, words, &place);
  return kWalkFrame;
}

}  // namespace allomon::cpython
