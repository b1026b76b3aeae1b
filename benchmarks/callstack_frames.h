// A stack of known depth to capture, in code with and without frame pointers.
#ifndef ALLOMON_BENCHMARKS_CALLSTACK_FRAMES_H_
#define ALLOMON_BENCHMARKS_CALLSTACK_FRAMES_H_

namespace allomon::benchmarks {

using Body = void (*)(void*);

// Calls body(argument) under `depth` frames, which belong to three functions with frames of
// different sizes.
void UnderFrames(int depth, Body body, void* argument);

}  // namespace allomon::benchmarks

#endif  // ALLOMON_BENCHMARKS_CALLSTACK_FRAMES_H_
