// What a slow path of allocation does at its end, however it ends.
#ifndef ALLOMON_RUNTIME_INTERNAL_PENDING_BLOCK_H_
#define ALLOMON_RUNTIME_INTERNAL_PENDING_BLOCK_H_

#include <exception>
#include <utility>

#include "runtime/internal/mutator.h"
#include "runtime/internal/sample_table.h"

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
  PendingBlock(SampleTable& table, heap_client::BlockHandle handle)
      : table_(table), handle_(handle) {
    if (handle_ != 0 && !table_.Reserve()) Drop();
  }
  ~PendingBlock() {
    if (handle_ == 0) return;
    table_.Unreserve();
    Drop();
  }
  PendingBlock(const PendingBlock&) = delete;
  PendingBlock& operator=(const PendingBlock&) = delete;

  // The block exists.  Runs no user code.
  void Become(Object* object, bool young) {
    const heap_client::BlockHandle handle = std::exchange(handle_, 0);
    if (handle != 0) table_.Add(object, handle, young);
  }

 private:
  void Drop() {
    std::exception_ptr ignored;  // another exception may be in flight already
    heap_client::OnManagedFree(std::exchange(handle_, 0), &ignored);
  }

  SampleTable& table_;
  heap_client::BlockHandle handle_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_PENDING_BLOCK_H_
