// Stacks of our own, for ticks.
//
// A tick comes while the thread is on any stack: an alternate one of 8 KiB (SIGSTKSZ), of which the
// kernel's frame takes 3 to 4, or a coroutine's.  A capture takes 4 KiB beside that, and 8 where an
// interpreter is asked.  So it runs on a stack of ours, and the thread's holds the kernel's frame
// and a few hundred bytes.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_TICK_STACK_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_TICK_STACK_H_

namespace allomon::internal {

// Calls run(argument) on a stack of ours.  False, without the call, if other threads have all of
// them.  No lock, no system call, any stack; `run` returns, and is no cancellation point.  On
// machines other than x86-64, and for sanitizers, it is a call.
bool RunOnTickStack(void (*run)(void* argument), void* argument);

// Called in a forked child: threads that it does not have may have had some.
void ForgetTickStacks();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_TICK_STACK_H_
