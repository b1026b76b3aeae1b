// What the native frames of a thread say of the Lua that it runs.
#ifndef ALLOMON_TRACKER_LUA_NATIVE_STACK_H_
#define ALLOMON_TRACKER_LUA_NATIVE_STACK_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/interpreters.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// The first native frame from `index` on that lies in `code`; native.count: there is none.
size_t FindFrameIn(const CodeRange& code, const internal::NativeFrames& native, size_t index);

// The same for the functions that run others in protected mode.
size_t FindProtection(const RunningLua& lua, const internal::NativeFrames& native, size_t index);

// The state whose protected call is the native frame `index`; 0: not found.  The frame has the
// state's pointer somewhere, and the state points to a record in this very frame: so it is that
// state, and runs on this thread.
uintptr_t FindState(const internal::NativeFrames& native, size_t index, ObjectReader* reader);

// The native frame of the outermost protected call of a state whose innermost is frame `index`.
size_t OutermostOf(uintptr_t state, const internal::NativeFrames& native, size_t index,
                   ObjectReader* reader);

// A word of the native stack, of which the thread mostly knows that it can be read.
bool LoadFromStack(uintptr_t address, ObjectReader* reader, uintptr_t* word);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_NATIVE_STACK_H_
