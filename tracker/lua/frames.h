// A walk of the Lua functions that the calling thread runs.
//
// The functions are those of an interpreter (callstack/interpreters.h); their data is a
// RunningLua.  Nothing that is read is trusted: README.md, "Bad data".
#ifndef ALLOMON_TRACKER_LUA_FRAMES_H_
#define ALLOMON_TRACKER_LUA_FRAMES_H_

#include "tracker/callstack/interpreters.h"
#include "tracker/lua/layout.h"

namespace allomon::lua {

int BeginWalk(void* lua, const internal::NativeFrames& native, internal::InterpreterWalk* walk);

// A frame's code is made of what the function is called in a stack: where it is defined.  Its
// position is the line.  Its own words are the state and the call.
int NextFrame(void* lua, internal::InterpreterWalk* walk, internal::InterpretedFrame* frame);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_FRAMES_H_
