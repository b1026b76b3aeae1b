#include "tracker/recording/lifetimes.h"

namespace allomon::recording {

void LifetimeTable::Clear() {
  events_.Clear();
  own_.Clear();
  index_.Clear();
}

uint32_t LifetimeTable::Add(const Key& key) {
  ALLOMON_DCHECK_EQ("inv.recording.key", Find(key), 0u);
  ALLOMON_DCHECK_NE("inv.recording.row", key.row_, 0u);
  if (!events_.Reserve() || !own_.Reserve(events_.size() + 1) || !index_.Reserve()) return 0;
  Event event = {};
  event.row = key.row_;
  event.kind = static_cast<uint8_t>(key.rest_);
  event.other_thread = static_cast<uint8_t>(key.rest_ >> 8);
  event.log2_bytes = static_cast<uint8_t>(key.rest_ >> 16);
  event.log2_nanos = static_cast<uint8_t>(key.rest_ >> 24);
  Own& own = own_.At(events_.size() + 1);
  own.row = key.row_;
  own.rest = key.rest_;
  const uint32_t number = events_.Add(event);
  own.file = events_.At(number);
  CountHeldStep(index_.Insert(number, *this));
  return number;
}

}  // namespace allomon::recording
