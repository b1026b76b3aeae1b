// Counts how blocks of each row ended: freed, promoted or died young, at about which age, and on
// which thread.
//
// Find() and the counting take no lock. Add() is called under the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_LIFETIMES_H_
#define ALLOMON_TRACKER_RECORDING_LIFETIMES_H_

#include <cstdint>

#include "tracker/recording/records.h"

namespace allomon::recording {

// The end of one block, or its promotion.
struct BlockEnd {
  uint32_t row;
  EventKind kind;
  bool by_other_thread;
  bool has_age;    // in bytes
  uint64_t bytes;  // allocated by the allocating thread during the block's life
  uint64_t nanos;  // lifetime of the block
};

class LifetimeTable {
 public:
  // An event, without its counts.
  class Key {
   public:
    explicit Key(const BlockEnd& end)
        : row_(end.row),
          rest_(static_cast<uint32_t>(end.kind) | (end.by_other_thread ? 1u << 8 : 0) |
                uint32_t{end.has_age ? Log2(end.bytes) : kAgeUnknown} << 16 |
                uint32_t{Log2(end.nanos)} << 24) {}

   private:
    friend class LifetimeTable;
    // 0 for 0.
    static uint8_t Log2(uint64_t number) {
      return static_cast<uint8_t>(63 - __builtin_clzll(number | 1));
    }
    uint32_t row_;
    uint32_t rest_;  // kind, thread, the two ages
  };

  void Begin(SegmentSource* source, WrittenField<uint32_t> count) { events_.Begin(source, count); }
  void Clear();

  // Returns 0 if the key is not there or was missed. Callers that get 0 look again under the lock.
  uint32_t Find(const Key& key) const {
    return index_.Find(HashOf(key.row_, key.rest_), *this, [&](uint32_t number) {
      const Own& own = own_.At(number);
      return own.row == key.row_ && own.rest == key.rest_;
    });
  }
  // Adds a key that is not there. Returns 0 if there is no room.
  uint32_t Add(const Key& key);

  void AddBlock(uint32_t event, uint64_t bytes) const {
    const Written<Event> file = own_.At(event).file;
    file[&Event::blocks].Add(1);
    file[&Event::bytes].Add(bytes);
  }

  // Links of the index.
  std::atomic<uint32_t>& Next(uint32_t event) const { return own_.At(event).next; }
  uint64_t HashOf(uint32_t event) const { return HashOf(own_.At(event).row, own_.At(event).rest); }

 private:
  struct Own {
    uint32_t row;
    uint32_t rest;
    std::atomic<uint32_t> next;
    Written<Event> file;
  };

  static uint64_t HashOf(uint32_t row, uint32_t rest) { return Mix(row, rest); }

  Records<Event, SegmentKind::kEvents> events_;
  OwnArray<Own> own_;
  ChainIndex index_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_LIFETIMES_H_
