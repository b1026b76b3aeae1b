// Protects work of ours from cancellation until it is done.  It opens, writes and closes files by
// the C library, and each of these calls would end a cancelled thread in the middle of a file, with
// our locks and those of its host held.
//
// For functions that start, stop and save on the caller's thread.  Not inside malloc or free: these
// make no call that is a cancellation point (sys/raw_calls.h).
#ifndef ALLOMON_TRACKER_BASE_UNCANCELLED_H_
#define ALLOMON_TRACKER_BASE_UNCANCELLED_H_

#include <pthread.h>

namespace allomon::internal {

// While one exists, a cancellation of its thread is delayed until the host's next cancellation
// point.  Nests.  Leaves errno alone.  Cost: two calls of the C library, of some ten instructions
// and one locked one each, and no system call.  A thread that waits for a pipe's reader meanwhile
// cannot be cancelled.
//
// A longjmp out of the scope would make the thread uncancellable for good.  So there is another
// scope around the setjmp (allocator/host/writing_reserve.h).
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former_); }
  // A thread with asynchronous cancellation ends here, and not before: that unwinds.
  ~Uncancelled() noexcept(false) { pthread_setcancelstate(former_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int former_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_UNCANCELLED_H_
