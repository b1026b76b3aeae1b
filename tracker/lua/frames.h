// Walks the Lua functions that the calling thread runs.
#ifndef ALLOMON_TRACKER_LUA_FRAMES_H_
#define ALLOMON_TRACKER_LUA_FRAMES_H_

#include "tracker/callstack/interpreters.h"
#include "tracker/lua/layout.h"

namespace allomon::lua {

int BeginWalk(void* lua, const internal::NativeFrames& native, internal::InterpreterWalk* walk);

// Stores the next frame.  Its code identifies the function by its place of definition, as stacks
// show it.  Its position is the line.  Its own words are the state and the call.
int NextFrame(void* lua, internal::InterpreterWalk* walk, internal::InterpretedFrame* frame);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_FRAMES_H_
