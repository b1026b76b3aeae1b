// The followed objects that a mutator has made since the last collection.  They are not yet in the
// heap's table, so most samples take no lock.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_NEW_SAMPLES_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_NEW_SAMPLES_H_

#include <cstdint>

#include "runtime/internal/object/object.h"
#include "tracker/base/check.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {

// A followed object in the nursery, or a block of custom bytes in it.
struct NewSample {
  Object* object;
  heap_client::BlockHandle handle;
};

// Used by the mutator, and by the collector while the world is stopped.  SampleTable has made room
// for all entries, and for some more (inv.sample.room).
class NewSamples {
 public:
  static constexpr uint32_t kMost = 32;

  // Promises room for one object; false if SampleTable must make room first.
  [[nodiscard]] bool TryPromise() {
    if (count_ + promised_ == room_) return false;
    ++promised_;
    return true;
  }
  // The object will not exist.
  void Unpromise() {
    ALLOMON_DCHECK_NE("inv.sample.room", promised_, 0u);
    --promised_;
  }
  // Follows a new object of the nursery, in promised room.
  void Add(Object* object, heap_client::BlockHandle handle) {
    Unpromise();
    samples_[count_++] = {object, handle};
  }

 private:
  friend class SampleTable;

  uint32_t count_ = 0;
  uint32_t promised_ = 0;  // room promised to objects not yet made
  uint32_t room_ = 0;      // at most kMost
  NewSample samples_[kMost];
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_NEW_SAMPLES_H_
