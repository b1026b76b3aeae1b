// What becomes of interned stacks when code is unloaded.
#ifndef ALLOMON_TRACKER_CORE_CODE_UNLOAD_H_
#define ALLOMON_TRACKER_CORE_CODE_UNLOAD_H_

#include <atomic>
#include <cstdint>

namespace allomon::internal {

// Told of code in [begin, end] that has gone: where its addresses are kept, `by` is to be added.
// Set once, by the recorder.  Called on the thread that unloads.
extern std::atomic<void (*)(uintptr_t begin, uintptr_t end, uintptr_t by)> recorder_unload_hook;

// Calls unload(handle), which is dlclose, and returns its result.  Stacks with frames in code that
// is gone then keep their names, and no unwind rule of that code is used any more.  Any thread, not
// inside malloc.  Runs the destructors of the unloaded code, sampled as ever.  Cost: a walk through
// the loader's list before and after, and if code has gone one through the stacks that were
// interned since it was loaded, or since the dlclose before that, 1 ns a frame.
int UnloadCode(void* handle, int (*unload)(void*));

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CODE_UNLOAD_H_
