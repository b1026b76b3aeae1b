// Restores registers of callers, as they were at their calls.
#ifndef ALLOMON_TRACKER_LUA_SAVED_REGISTER_H_
#define ALLOMON_TRACKER_LUA_SAVED_REGISTER_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/interpreters.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Finds the value that a register, by DWARF's number (rbx, rbp, r12 to r15), had in the native
// frame `index` at its call.  A callee has saved it, or the walk itself.  The frames are the
// calling thread's.  False: it is lost.  Cost: 10 ns for each frame searched, mostly one to ten;
// 150 for a new one.
bool FindSavedRegister(const internal::NativeFrames& native, size_t index, uint64_t number,
                       ObjectReader* reader, uintptr_t* value);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_SAVED_REGISTER_H_
