// A hash index to the numbers of records in own memory: chains that share one array of heads, which
// grows by one head for each record (linear hashing: Litwin 1980; Larson 1988).
//
// Find() takes no lock and may miss a record whose chain is being split.  A thread that finds
// nothing takes the owner's lock, searches again, and only then inserts.  Insert() and Remove() are
// called under that lock.  Insert() splits one chain, so growth never makes a thread wait for
// longer than one chain takes.
//
// The records are the user's, which passes a Records to each call:
//
//   std::atomic<uint32_t>& Next(uint32_t number) const;  // the next one's number; 0: none
//   uint64_t HashOf(uint32_t number) const;
//
// A removed record keeps its Next(), so that a thread at it can go on.  Cost: a probe reads the
// head and a record or two.
#ifndef ALLOMON_TRACKER_BASE_CHAIN_INDEX_H_
#define ALLOMON_TRACKER_BASE_CHAIN_INDEX_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/own_array.h"

namespace allomon::internal {

// Multiplications spread the low bits upwards, shifts bring the high bits down.
constexpr uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b * 0x9e3779b97f4a7c15)) * 0xd1342543de82ef95;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

// An index of at most kMost records.  Initialised at compile time.  It begins with kFirstHeads
// chains, a power of two.  Tests have few chains, and pages of few heads.
template <uint32_t kMost, uint32_t kFirstHeads = 256, uint32_t kPageHeads = 4096>
class ChainIndex {
 public:
  // Returns the number for which is(number) holds; 0 if there is no such record, or if it was
  // missed.
  template <typename Records, typename Is>
  uint32_t Find(uint64_t hash, const Records& records, Is is) const {
    // Pairs with the release in Insert() and Split(): the heads below the count are visible.
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

  // Inserts a complete record after a successful Reserve().  Returns the number of records that it
  // has visited.
  template <typename Records>
  uint32_t Insert(uint32_t number, const Records& records) {
    uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == 0) count_.store(count = kFirstHeads, std::memory_order_release);
    Push(PlaceOf(records.HashOf(number), count), number, records);
    return ++used_ > count ? Split(count, records) : 0;
  }

  // Removes a record whose hash has not changed; does nothing if it was removed before.
  template <typename Records>
  void Remove(uint32_t number, const Records& records) {
    const uint32_t count = count_.load(std::memory_order_relaxed);
    std::atomic<uint32_t>* link = &heads_.At(PlaceOf(records.HashOf(number), count));
    for (uint32_t at; (at = link->load(std::memory_order_relaxed)) != number;) {
      if (at == 0) return;
      link = &records.Next(at);
    }
    link->store(records.Next(number).load(std::memory_order_relaxed), std::memory_order_release);
    ALLOMON_DCHECK_NE("inv.chain.used", used_, 0u);
    --used_;
  }

  // No other thread looks.
  void Clear() {
    heads_.Clear();
    count_.store(0, std::memory_order_relaxed);
    used_ = 0;
  }

 private:
  // Heads from the largest power of two on have taken their records from the head at the same place
  // in the lower half.
  static uint32_t PlaceOf(uint64_t hash, uint32_t count) {
    const uint32_t half = uint32_t{1} << (31 - __builtin_clz(count));
    const uint32_t place = static_cast<uint32_t>(hash) & (2 * half - 1);
    return place < count ? place : place & (half - 1);
  }

  template <typename Records>
  void Push(uint32_t place, uint32_t number, const Records& records) {
    ALLOMON_DCHECK("inv.chain.used", number != 0 && place < kMost);
    std::atomic<uint32_t>& head = heads_.At(place);
    // Release, since a thread may be at the record while Split() moves it: it then reaches a record
    // that may have been filled by a third thread.
    records.Next(number).store(head.load(std::memory_order_relaxed), std::memory_order_release);
    head.store(number, std::memory_order_release);
  }

  // Divides the chain whose place the fresh head shares.  A thread that walks the chain may get
  // into the fresh one, and then misses the rest: see above.
  template <typename Records>
  uint32_t Split(uint32_t count, const Records& records) {
    uint32_t steps = 0;
    if (heads_.Find(count) == nullptr) return 0;  // own memory is exhausted: longer chains
    const uint32_t half = uint32_t{1} << (31 - __builtin_clz(count));
    std::atomic<uint32_t>* link = &heads_.At(count - half);
    for (uint32_t number; (number = link->load(std::memory_order_relaxed)) != 0;) {
      ++steps;
      std::atomic<uint32_t>& next = records.Next(number);
      if ((static_cast<uint32_t>(records.HashOf(number)) & (2 * half - 1)) != count) {
        link = &next;
        continue;
      }
      // Release, here and in Remove(), since the link then leads to a record of another thread's.
      link->store(next.load(std::memory_order_relaxed), std::memory_order_release);
      Push(count, number, records);
    }
    count_.store(count + 1, std::memory_order_release);
    return steps;
  }

  OwnArray<std::atomic<uint32_t>, kMost, kPageHeads> heads_;
  std::atomic<uint32_t> count_{0};
  uint32_t used_ = 0;  // records that are in it
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_CHAIN_INDEX_H_
