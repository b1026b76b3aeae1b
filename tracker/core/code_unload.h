// Keeps interned stacks correct when code is unloaded.
#ifndef ALLOMON_TRACKER_CORE_CODE_UNLOAD_H_
#define ALLOMON_TRACKER_CORE_CODE_UNLOAD_H_

#include <atomic>
#include <cstdint>

namespace allomon::internal {

// Called when code in [begin, end] was unloaded, so that `by` is added to stored addresses of it.
// Set once, by the recorder.  Called on the thread that unloads.
extern std::atomic<void (*)(uintptr_t begin, uintptr_t end, uintptr_t by)> recorder_unload_hook;

// Calls unload(handle), which is dlclose, and returns its result.  Stacks with frames in the
// unloaded code keep their names, and no unwind rule of that code is used any more.  Any thread,
// not inside malloc.  Runs the destructors of the unloaded code, which are sampled as usual.  Cost:
// a walk through the loader's list before and after.  If code was unloaded, also one through the
// stacks interned since it was loaded, or since the dlclose before that, at 1 ns a frame.
int UnloadCode(void* handle, int (*unload)(void*));

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CODE_UNLOAD_H_
