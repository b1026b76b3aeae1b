// From a hash to the numbers of records in own memory: chains that share one array of heads, which
// grows by one head for each record (linear hashing: Litwin 1980; Larson 1988).
//
// Find() takes no lock and may miss a record whose chain is being split.  A thread that does not
// find takes the owner's lock, looks again, and only then inserts.  Insert() and Remove() under
// that lock: Insert() splits one chain, so growth never makes a thread wait for more than a chain's
// length.
//
// The records are the user's, who gives each call a Records:
//
//   std::atomic<uint32_t>& Next(uint32_t number) const;  // the next one's number; 0: none
//   uint64_t HashOf(uint32_t number) const;
//
// A record that was taken out keeps its Next(), so that a thread which stands on it goes on.  Cost:
// a probe reads the head and a record or two.
#ifndef ALLOMON_TRACKER_BASE_CHAIN_INDEX_H_
#define ALLOMON_TRACKER_BASE_CHAIN_INDEX_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/own_array.h"

namespace allomon::internal {

// Multiplications spread the low bits upwards, shifts bring the high ones down.
constexpr uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b * 0x9e3779b97f4a7c15)) * 0xd1342543de82ef95;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

// Of at most kMost records.  Constant-initialised.
template <uint32_t kMost>
class ChainIndex {
 public:
  // The number for which is(number) holds; 0 if there is none, or if it was missed.
  template <typename Records, typename Is>
  uint32_t Find(uint64_t hash, const Records& records, Is is) const {
    // Pairs with the release in Insert() and Split(): the heads below the count are there.
    const uint32_t count = count_.load(std::memory_order_acquire);
    if (count == 0) return 0;
    uint32_t number = heads_.At(PlaceOf(hash, count)).load(std::memory_order_acquire);
    // Acquire pairs with the release by which the record became a part of the chain.
    for (; number != 0; number = records.Next(number).load(std::memory_order_acquire)) {
      if (is(number)) return number;
    }
    return 0;
  }

  // Makes room for one record more; false when own memory is exhausted.
  bool Reserve() { return heads_.Reserve(count_.load(std::memory_order_relaxed) + kFirstHeads); }

  // After a Reserve() that was granted, of a record that is filled.  The number of records that it
  // has looked at.
  template <typename Records>
  uint32_t Insert(uint32_t number, const Records& records) {
    uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == 0) count_.store(count = kFirstHeads, std::memory_order_release);
    Push(PlaceOf(records.HashOf(number), count), number, records);
    return ++used_ > count ? Split(count, records) : 0;
  }

  // Of a record whose hash has not changed; nothing if it was taken out before.
  template <typename Records>
  void Remove(uint32_t number, const Records& records) {
    const uint32_t count = count_.load(std::memory_order_relaxed);
    std::atomic<uint32_t>* link = &heads_.At(PlaceOf(records.HashOf(number), count));
    for (uint32_t at; (at = link->load(std::memory_order_relaxed)) != number;) {
      if (at == 0) return;
      link = &records.Next(at);
    }
    link->store(records.Next(number).load(std::memory_order_relaxed), std::memory_order_release);
    --used_;
  }

  // No other thread looks.
  void Clear() {
    heads_.Clear();
    count_.store(0, std::memory_order_relaxed);
    used_ = 0;
  }

 private:
  static constexpr uint32_t kFirstHeads = 256;

  // Heads from the largest power of two on have taken their part of those that lie so much below.
  static uint32_t PlaceOf(uint64_t hash, uint32_t count) {
    const uint32_t half = uint32_t{1} << (31 - __builtin_clz(count));
    const uint32_t place = static_cast<uint32_t>(hash) & (2 * half - 1);
    return place < count ? place : place & (half - 1);
  }

  template <typename Records>
  void Push(uint32_t place, uint32_t number, const Records& records) {
    std::atomic<uint32_t>& head = heads_.At(place);
    // Release, since a thread may stand on the record while Split() moves it: what it is then led
    // to may have been filled by a third thread.
    records.Next(number).store(head.load(std::memory_order_relaxed), std::memory_order_release);
    head.store(number, std::memory_order_release);
  }

  // The chain that the fresh head shares a place with is divided.  A thread that walks along it may
  // be led into the fresh chain, and then misses the rest: see above.
  template <typename Records>
  uint32_t Split(uint32_t count, const Records& records) {
    uint32_t steps = 0;
    if (heads_.Find(count) == nullptr) return 0;  // own memory is exhausted: chains get longer
    const uint32_t half = uint32_t{1} << (31 - __builtin_clz(count));
    std::atomic<uint32_t>* link = &heads_.At(count - half);
    for (uint32_t number; (number = link->load(std::memory_order_relaxed)) != 0;) {
      ++steps;
      std::atomic<uint32_t>& next = records.Next(number);
      if ((static_cast<uint32_t>(records.HashOf(number)) & (2 * half - 1)) != count) {
        link = &next;
        continue;
      }
      link->store(next.load(std::memory_order_relaxed), std::memory_order_release);
      Push(count, number, records);
    }
    count_.store(count + 1, std::memory_order_release);
    return steps;
  }

  OwnArray<std::atomic<uint32_t>, kMost> heads_;
  std::atomic<uint32_t> count_{0};
  uint32_t used_ = 0;  // records that are in it
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_CHAIN_INDEX_H_
