// Work of ours that is done to its end, although somebody has cancelled the thread: it opens,
// writes and closes files by the C library, and each of these calls would end a cancelled thread,
// in the middle of a file, with our locks and those of its host.
//
// For what starts, stops and saves on the thread of its caller.  Not inside malloc or free: they
// make no call that heeds a cancellation (sys/raw_calls.h).
#ifndef ALLOMON_TRACKER_BASE_UNCANCELLED_H_
#define ALLOMON_TRACKER_BASE_UNCANCELLED_H_

#include <pthread.h>

namespace allomon::internal {

// While one exists, a cancellation of its thread waits; it is heeded where the host next calls what
// heeds it.  Nests.  Leaves errno alone.  Cost: two calls of the C library, of some ten
// instructions and one locked one each, and no system call.  A thread that waits for a pipe's
// reader meanwhile cannot be cancelled.
//
// A longjmp out of the scope leaves the thread one that can never be cancelled.  So there is one
// more scope around the setjmp (allocator/host/writing_reserve.h).
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former_); }
  // A thread of asynchronous type ends here, and not before: that unwinds.
  ~Uncancelled() noexcept(false) { pthread_setcancelstate(former_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int former_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_UNCANCELLED_H_
