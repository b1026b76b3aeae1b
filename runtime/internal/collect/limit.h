// The limit at which the allocation of a thread stops next.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_LIMIT_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_LIMIT_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Counts the allocations of the thread since the last call.
void Sync(Mutator& mutator);

// inv.limit: sets the limit to the end of the grant, to the next sample, or to 0 if the thread's
// attention is wanted.
void PublishLimit(Mutator& mutator);

// Publishes the limit at the end of a slow path, also when a callback throws.
class LimitPublisher {
 public:
  explicit LimitPublisher(Mutator& mutator) : mutator_(mutator) {}
  ~LimitPublisher() { PublishLimit(mutator_); }
  LimitPublisher(const LimitPublisher&) = delete;
  LimitPublisher& operator=(const LimitPublisher&) = delete;

 private:
  Mutator& mutator_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_LIMIT_H_
