// Waiting for another heap's threads.
#ifndef ALLOMON_RUNTIME_INTERNAL_STANDING_H_
#define ALLOMON_RUNTIME_INTERNAL_STANDING_H_

namespace allomon::gc::internal {

class HeapCore;
class Mutator;

// While a Standing is open the thread stands in the heap that it is attached to, as in a
// NativeRegion.  A thread that waits for another heap's world, or for a lock that is held while
// worlds stop, may itself be waited for.  Does nothing for a thread that does not run.  Does
// nothing for a thread of `waits_for`, whose world knows that it waits.  A safepoint: objects of
// the thread's heap may move.
class Standing {
 public:
  explicit Standing(const HeapCore* waits_for = nullptr);
  ~Standing();
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

 private:
  Mutator* const mutator_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STANDING_H_
