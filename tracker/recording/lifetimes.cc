#include "tracker/recording/lifetimes.h"

namespace allomon::recording {
namespace {

uint8_t Log2(uint64_t number) {
  return number <= 1 ? 0 : static_cast<uint8_t>(63 - __builtin_clzll(number));
}

}  // namespace

LifetimeTable::Key::Key(const BlockEnd& end)
    : row_(end.row),
      rest_(static_cast<uint32_t>(end.kind) | (end.by_other_thread ? 1u << 8 : 0) |
            uint32_t{end.has_age ? Log2(end.bytes) : kAgeUnknown} << 16 |
            uint32_t{Log2(end.nanos)} << 24) {}

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
