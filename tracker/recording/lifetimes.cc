#include "tracker/recording/lifetimes.h"

#include "tracker/recording/rows.h"

namespace allomon::recording {
namespace {

uint8_t Log2(uint64_t number) {
  return number <= 1 ? 0 : static_cast<uint8_t>(63 - __builtin_clzll(number));
}

Event KeyOf(const BlockEnd& end) {
  Event key = {};
  key.row = end.row;
  key.kind = static_cast<uint8_t>(end.kind);
  key.other_thread = end.by_other_thread ? 1 : 0;
  key.log2_bytes = Log2(end.bytes);
  key.log2_nanos = Log2(end.nanos);
  return key;
}

uint64_t HashOf(const Event& key) {
  return Mix(key.row, uint64_t{key.kind} << 24 | uint64_t{key.other_thread} << 16 |
                          uint64_t{key.log2_bytes} << 8 | key.log2_nanos);
}

bool Same(const Event& a, const Event& b) {
  return a.row == b.row && a.kind == b.kind && a.other_thread == b.other_thread &&
         a.log2_bytes == b.log2_bytes && a.log2_nanos == b.log2_nanos;
}

}  // namespace

void LifetimeTable::Clear() {
  events_.Clear();
  index_.Clear();
}

void LifetimeTable::Add(const BlockEnd& end, const Sum& block) {
  const uint32_t cell = CellOf(KeyOf(end));
  if (cell != 0) recording::Add(block, &events_.At(cell).sum);
}

uint32_t LifetimeTable::CellOf(const Event& key) {
  const uint64_t hash = HashOf(key);
  const uint32_t known =
      index_.Find(hash, [&](uint32_t number) { return Same(events_.At(number), key); });
  if (known != 0 || !index_.Reserve()) return known;
  const uint32_t number = events_.Add(key);
  if (number != 0) index_.Insert(hash, number);
  return number;
}

}  // namespace allomon::recording
