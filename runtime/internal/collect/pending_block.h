// The final steps of a slow path of allocation, whether it returns or throws.
#ifndef ALLOMON_RUNTIME_INTERNAL_PENDING_BLOCK_H_
#define ALLOMON_RUNTIME_INTERNAL_PENDING_BLOCK_H_

#include <exception>
#include <utility>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/mutator.h"

namespace allomon::gc::internal {

// Publishes the limit at the end of a slow path, also when a callback throws.
class LimitPublisher {
 public:
  explicit LimitPublisher(Mutator& mutator) : mutator_(mutator) {}
  ~LimitPublisher() { mutator_.PublishLimit(); }
  LimitPublisher(const LimitPublisher&) = delete;
  LimitPublisher& operator=(const LimitPublisher&) = delete;

 private:
  Mutator& mutator_;
};

// A followed block, which counts as dead if its allocation fails.
class PendingBlock {
 public:
  // Makes room for the block in the table; without memory the block is not followed.
  PendingBlock(Mutator& mutator, heap_client::BlockHandle handle)
      : mutator_(mutator), handle_(handle) {
    if (handle_ != 0 && !Table().Promise(mutator_.new_samples)) Drop();
  }
  ~PendingBlock() {
    if (handle_ == 0) return;
    mutator_.new_samples.Unpromise();
    Drop();
  }
  PendingBlock(const PendingBlock&) = delete;
  PendingBlock& operator=(const PendingBlock&) = delete;

  // Called when the block exists.  Runs no user code.
  void Become(Object* object, bool young) {
    const heap_client::BlockHandle handle = std::exchange(handle_, 0);
    if (handle == 0) return;
    if (young) {
      mutator_.new_samples.Add(object, handle);
    } else {
      Table().AddOld(mutator_.new_samples, object, handle);
    }
  }

 private:
  SampleTable& Table() { return mutator_.heap->samples; }
  void Drop() {
    std::exception_ptr ignored;  // another exception may already be in flight
    heap_client::OnManagedFree(std::exchange(handle_, 0), &ignored);
  }

  Mutator& mutator_;
  heap_client::BlockHandle handle_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_PENDING_BLOCK_H_
