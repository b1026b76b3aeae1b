// A block that is followed, and does not exist yet.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_PENDING_BLOCK_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_PENDING_BLOCK_H_

#include <exception>
#include <utility>

#include "runtime/internal/tables/new_samples.h"
#include "runtime/internal/tables/sample_table.h"

namespace allomon::gc::internal {

// A followed block, which counts as dead if its allocation fails.
class PendingBlock {
 public:
  // Makes room for the block in the table; without memory the block is not followed.
  PendingBlock(SampleTable& table, NewSamples& own, heap_client::BlockHandle handle)
      : table_(table), own_(own), handle_(handle) {
    if (handle_ != 0 && !table_.Promise(own_)) Drop();
  }
  ~PendingBlock() {
    if (handle_ == 0) return;
    own_.Unpromise();
    Drop();
  }
  PendingBlock(const PendingBlock&) = delete;
  PendingBlock& operator=(const PendingBlock&) = delete;

  // The block exists.  Runs no user code.
  void Become(Object* object, bool young) {
    const heap_client::BlockHandle handle = std::exchange(handle_, 0);
    if (handle == 0) return;
    if (young) {
      own_.Add(object, handle);
    } else {
      table_.AddOld(own_, object, handle);
    }
  }

 private:
  void Drop() {
    std::exception_ptr ignored;  // another exception may be in flight already
    heap_client::OnManagedFree(std::exchange(handle_, 0), &ignored);
  }

  SampleTable& table_;
  NewSamples& own_;  // the mutator's
  heap_client::BlockHandle handle_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_PENDING_BLOCK_H_
