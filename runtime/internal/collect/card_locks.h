// Locks on pieces of the young range, for the threads of a parallel collection.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_CARD_LOCKS_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_CARD_LOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/internal/collect/brief_pause.h"
#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/young_range.h"
#include "tracker/base/waiting.h"

namespace allomon::gc::internal {

// A byte for each 4 KiB of the young range.  Pages of the table are there where locks have been
// used.  No lock is held between collections.
class CardLocks {
 public:
  CardLocks() = default;
  ~CardLocks() {
    if (locks_ != nullptr) ReleaseMemory(locks_, kCards);
  }
  CardLocks(const CardLocks&) = delete;
  CardLocks& operator=(const CardLocks&) = delete;

  // False without memory.
  [[nodiscard]] bool Reserve() {
    if (locks_ == nullptr) locks_ = static_cast<std::atomic<uint8_t>*>(ReserveMemory(kCards));
    return locks_ != nullptr;
  }

  // The card in which the young object begins.
  static size_t Of(const Object* object) {
    return (reinterpret_cast<uintptr_t>(object) - kYoungStart) / kCardBytes;
  }
  // Waits as long as another thread has the card.  Acquire: pairs with Unlock().
  void Lock(size_t card) {
    while (locks_[card].exchange(1, std::memory_order_acquire) != 0) Await(card);
  }
  void Unlock(size_t card) { locks_[card].store(0, std::memory_order_release); }

  static constexpr size_t kNoCard = SIZE_MAX;

 private:
  // The thread that has the lock may be one that does not run.
  __attribute__((noinline)) void Await(size_t card) const {
    for (unsigned look = 0; locks_[card].load(std::memory_order_relaxed) != 0; ++look) {
      if (look < kBriefLooks) {
        PauseBriefly();
      } else {
        allomon::internal::PauseBetweenLooks(look);
      }
    }
  }

  static constexpr size_t kCardBytes = 4096;
  static constexpr size_t kCards = kYoungBytes / kCardBytes;

  std::atomic<uint8_t>* locks_ = nullptr;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_CARD_LOCKS_H_
