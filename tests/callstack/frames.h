// Functions compiled without frame pointers, for captures of their stacks.
#ifndef ALLOMON_TESTS_CALLSTACK_FRAMES_H_
#define ALLOMON_TESTS_CALLSTACK_FRAMES_H_

namespace allomon::testing {

using Body = void (*)(void*);

// Each calls body(argument); their frames differ.
void CallPlainly(Body body, void* argument);
void CallWithLargeFrame(Body body, void* argument);  // 40 KB of locals
void CallWithAlloca(int bytes, Body body,
                    void* argument);                 // CFA from rbp after all
void CallRealigned(Body body, void* argument);       // the stack aligned to 64 bytes
void CallFromComparison(Body body, void* argument);  // under libc's qsort

// Calls all of the above, nested.
void CallThroughAll(Body body, void* argument);

// Calls body under `depth` frames of its own.
void CallAtDepth(int depth, Body body, void* argument);

// Returns the address of a function of this file that nothing else names.
void* AddressOfPlain();

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_CALLSTACK_FRAMES_H_
