// Finds the Lua states of a thread from its native frames.
#ifndef ALLOMON_TRACKER_LUA_NATIVE_STACK_H_
#define ALLOMON_TRACKER_LUA_NATIVE_STACK_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/interpreters.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Returns the first native frame from `index` on that lies in `code`; native.count if there is
// none.
size_t FindFrameIn(const CodeRange& code, const internal::NativeFrames& native, size_t index);

// The same for the functions that run others in protected mode.
size_t FindProtection(const RunningLua& lua, const internal::NativeFrames& native, size_t index);

// Returns the state whose protected call is the native frame `index`; 0: not found.  The frame
// contains the state's pointer, and the state points to a record in this very frame.  So it is that
// state, and it runs on this thread.
uintptr_t FindState(const internal::NativeFrames& native, size_t index, ObjectReader* reader);

// Returns the native frame of a state's outermost protected call; frame `index` has the innermost.
size_t OutermostOf(uintptr_t state, const internal::NativeFrames& native, size_t index,
                   ObjectReader* reader);

// Loads a word of the native stack.  The thread usually knows already that it can be read.
bool LoadFromStack(uintptr_t address, ObjectReader* reader, uintptr_t* word);

// ---- Restores registers of callers, as they were at their calls.

// Finds the value that a register, by DWARF's number (rbx, rbp, r12 to r15), had in the native
// frame `index` at its call.  A callee has saved it, or the walk itself.  The frames are the
// calling thread's.  False: it is lost.  Cost: 10 ns for each frame searched, mostly one to ten;
// 150 for a new one.
bool FindSavedRegister(const internal::NativeFrames& native, size_t index, uint64_t number,
                       ObjectReader* reader, uintptr_t* value);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_NATIVE_STACK_H_
