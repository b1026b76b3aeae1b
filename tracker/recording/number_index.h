// From a hash to the numbers of records: open addressing, in own memory, at most three quarters
// full.  Grows by doubling; nothing is taken out.
//
// Guarded by the recorder's lock.  Cost: a probe reads eight bytes; a record is compared where 32
// bits of the hash agree.
#ifndef ALLOMON_TRACKER_RECORDING_NUMBER_INDEX_H_
#define ALLOMON_TRACKER_RECORDING_NUMBER_INDEX_H_

#include <cstddef>
#include <cstdint>

namespace allomon::recording {

// Multiplications spread the low bits upwards, shifts bring the high ones down.
constexpr uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b * 0x9e3779b97f4a7c15)) * 0xd1342543de82ef95;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15;
}

class NumberIndex {
 public:
  NumberIndex() = default;
  ~NumberIndex() { Clear(); }
  NumberIndex(const NumberIndex&) = delete;
  NumberIndex& operator=(const NumberIndex&) = delete;

  // The first number with this hash for which equals(number) holds; 0 if there is none.
  template <typename Equals>
  uint32_t Find(uint64_t hash, Equals equals) const {
    if (places_ == nullptr) return 0;
    const uint32_t tag = TagOf(hash);
    for (size_t at = tag & mask_;; at = (at + 1) & mask_) {
      const uint64_t place = places_[at];
      if (place == 0) return 0;
      const uint32_t number = static_cast<uint32_t>(place);
      if (place >> 32 == tag && equals(number)) return number;
    }
  }

  // Makes room for one number more; false when own memory is exhausted.
  bool Reserve();
  // Behind a Reserve() that was granted.
  void Insert(uint64_t hash, uint32_t number);
  void Clear();

 private:
  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  void Put(uint64_t place);

  uint64_t* places_ = nullptr;  // tag << 32 | number; 0: empty
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_NUMBER_INDEX_H_
