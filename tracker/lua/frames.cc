#include "tracker/lua/frames.h"

#include "tracker/base/check.h"
#include "tracker/callstack/readable_memory.h"
#include "tracker/lua/describe.h"
#include "tracker/lua/native_stack.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {
namespace {

using internal::InterpretedFrame;
using internal::InterpreterWalk;
using internal::kWalkEnd;
using internal::kWalkFrame;
using internal::kWalkLost;
using internal::NativeFrames;
using internal::ReadableMemory;

// Maximum number of nested calls of native functions; each takes some of the native stack.
constexpr int kMostNativeCallsInARow = 1000;

// The content of InterpreterWalk::place.
struct Place {
  ReadableMemory memory;
  NativeFrames native;
  uintptr_t state;
  uintptr_t call;          // the next one
  uint32_t next_native;    // frames before this one are used up
  uint32_t end_of_state;   // index of the native frame that began the state
  uintptr_t native_place;  // frame of the loop that runs the next call; 0: no loop
  bool is_in_loop;         // whether that is known
  bool is_innermost;       // no call was passed yet
};
static_assert(sizeof(Place) <= sizeof(InterpreterWalk::place));
static_assert(alignof(Place) <= alignof(InterpreterWalk));

Place& PlaceOf(InterpreterWalk* walk) { return *reinterpret_cast<Place*>(walk->place); }

// Moves to the state of the next protected call among the callers.  A function with inlined
// protected calls may have ended its own already; such a frame is skipped.
int EnterState(const RunningLua& lua, size_t from, Place* place) {
  ObjectReader reader(&place->memory);
  size_t index = FindProtection(lua, place->native, from);
  if (index == place->native.count) return kWalkEnd;
  while ((place->state = FindState(place->native, index, &reader)) == 0) {
    index = FindProtection(lua, place->native, index + 1);
    if (index == place->native.count) return kWalkLost;
  }
  if (!reader.Load(place->state + kStateCall, &place->call)) return kWalkLost;
  place->next_native = static_cast<uint32_t>(from);
  place->end_of_state =
      static_cast<uint32_t>(OutermostOf(place->state, place->native, index, &reader));
  ALLOMON_DCHECK_LE("inv.lua.frames", from, place->end_of_state);
  place->is_in_loop = false;
  return kWalkFrame;
}

bool IsAtFirstCall(const Place& place) {
  return place.call == 0 || place.call == place.state + kStateFirstCall;
}

// Moves to the next call of a Lua function, across states.
int FindCall(const RunningLua& lua, Place* place, CallWords* words) {
  for (int i = 0; i < kMostNativeCallsInARow; ++i) {
    if (IsAtFirstCall(*place)) {
      const int entered = EnterState(lua, place->end_of_state + size_t{1}, place);
      if (entered != kWalkFrame) return entered;
      place->is_innermost = false;
      continue;
    }
    if (!ObjectReader(&place->memory).ReadCall(place->call, words)) return kWalkLost;
    if ((words->flags & kCallsNative) == 0) return kWalkFrame;
    place->call = words->caller;
    place->is_innermost = false;
  }
  return kWalkLost;
}

// Pairs the next loop with the calls that began one, from the innermost outwards.  A resumed
// coroutine has fewer loops: the loops of its outer calls begin when the inner calls return.
void FindLoop(const RunningLua& lua, Place* place) {
  if (place->is_in_loop) return;
  place->is_in_loop = true;
  place->native_place = 0;
  const size_t index = FindFrameIn(lua.loop, place->native, place->next_native);
  if (index >= place->native.count || index > place->end_of_state) return;
  place->native_place = place->native.sps[index];
  place->next_native = static_cast<uint32_t>(index) + 1;
}

const UnsavedCall* FindUnsaved(const RunningLua& lua, uintptr_t return_address) {
  for (int i = 0; i < lua.unsaved_count; ++i) {
    if (lua.unsaved[i].return_address == return_address) return &lua.unsaved[i];
  }
  return nullptr;
}

bool FindInstruction(const UnsavedCall& call, size_t index, Place* place, uintptr_t* instruction) {
  ObjectReader reader(&place->memory);
  if (call.register_number != 0) {
    return FindSavedRegister(place->native, index, call.register_number, &reader, instruction);
  }
  return LoadFromStack(place->native.sps[index] + call.frame_word * sizeof(uintptr_t), &reader,
                       instruction);
}

// Returns the instruction after the current one.  The call has it, except at the few calls of the
// loop that do not store it first.
uintptr_t NextInstruction(const RunningLua& lua, const Prototype& prototype, const CallWords& words,
                          Place* place) {
  if (!place->is_innermost || place->native_place == 0) return words.instruction;
  ALLOMON_DCHECK_NE("inv.lua.frames", place->next_native, 0u);
  const size_t index = place->next_native - size_t{1};
  const UnsavedCall* const call = FindUnsaved(lua, place->native.pcs[index]);
  uintptr_t found;
  if (call == nullptr || !FindInstruction(*call, index, place, &found)) return words.instruction;
  const uintptr_t bytes = static_cast<uint32_t>(prototype.code_count) * kInstructionBytes;
  return found - prototype.code <= bytes ? found : words.instruction;
}

// Computes the index of the current instruction, from 0; -1 before the first one.  False: the
// address is not in this code.
bool IndexOf(const Prototype& prototype, uintptr_t next_instruction, int32_t* index) {
  const uintptr_t bytes = next_instruction - prototype.code;
  if (prototype.code_count < 0 || bytes % kInstructionBytes != 0) return false;
  *index = static_cast<int32_t>(bytes / kInstructionBytes) - 1;
  return bytes / kInstructionBytes <= static_cast<uint32_t>(prototype.code_count);
}

bool ReadFrame(const RunningLua& lua, const CallWords& words, Place* place,
               InterpretedFrame* frame) {
  ObjectReader reader(&place->memory);
  Prototype prototype;
  int32_t index;
  frame->native_frame = place->native_place;
  frame->own[0] = place->state;
  frame->own[1] = place->call;
  return reader.ReadPrototype(reader.PrototypeOf(place->state, words), &prototype) &&
         IndexOf(prototype, NextInstruction(lua, prototype, words, place), &index) &&
         LineOf(prototype, index, &reader, &frame->position) &&
         IdentityOf(prototype, &reader, &frame->code);
}

}  // namespace

int BeginWalk(void* data, const NativeFrames& native, InterpreterWalk* walk) {
  Place& place = PlaceOf(walk);
  place.native = native;
  place.is_innermost = true;
  return EnterState(*static_cast<const RunningLua*>(data), 0, &place);
}

int NextFrame(void* data, InterpreterWalk* walk, InterpretedFrame* frame) {
  const RunningLua& lua = *static_cast<const RunningLua*>(data);
  Place& place = PlaceOf(walk);
  CallWords words;
  const int found = FindCall(lua, &place, &words);
  if (found != kWalkFrame) return found;
  FindLoop(lua, &place);
  if (!ReadFrame(lua, words, &place, frame)) return kWalkLost;
  if ((words.flags & kBeginsLoop) != 0) place.is_in_loop = false;
  place.call = words.caller;
  place.is_innermost = false;
  return kWalkFrame;
}

}  // namespace allomon::lua
