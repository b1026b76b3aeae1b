// The followed objects that a mutator has made since the last collection, before the table of the
// heap knows them: so most samples take no lock.
#ifndef ALLOMON_RUNTIME_INTERNAL_NEW_SAMPLES_H_
#define ALLOMON_RUNTIME_INTERNAL_NEW_SAMPLES_H_

#include <cstdint>

#include "runtime/internal/object.h"
#include "tracker/base/check.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {

// A followed object of the nursery, or a block of custom bytes that lies there.
struct NewSample {
  Object* object;
  heap_client::BlockHandle handle;
};

// The mutator's own, and the collector's while the world is stopped.  SampleTable has made room for
// all that is in here, and for some more (inv.sample.room).
class NewSamples {
 public:
  static constexpr uint32_t kMost = 32;

  // Promises the room for one object; false if SampleTable must make room before.
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
  // Follows an object of the nursery that exists from now on, in promised room.
  void Add(Object* object, heap_client::BlockHandle handle) {
    Unpromise();
    samples_[count_++] = {object, handle};
  }

 private:
  friend class SampleTable;

  uint32_t count_ = 0;
  uint32_t promised_ = 0;  // to objects that do not exist yet
  uint32_t room_ = 0;      // at most kMost
  NewSample samples_[kMost];
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_NEW_SAMPLES_H_
