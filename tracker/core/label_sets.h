// Interned sets of labels: equal sets have equal ids, so that an entry holds four bytes for a set.
//
// Interned sets live until the process ends.  There are at most kMostLabelSets sets and
// kMostSetBytes of text; later sets become kOtherLabels.  Thread safe; finding a known set takes no
// lock.  Never calls malloc, never throws.  In a signal handler only if the thread was not busy
// (inv.lock.tick).
#ifndef ALLOMON_TRACKER_CORE_LABEL_SETS_H_
#define ALLOMON_TRACKER_CORE_LABEL_SETS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tracker/base/own_memory.h"
#include "tracker/core/ids.h"
#include "tracker/core/tick_safe_lock.h"
#include "tracker/label_set.h"

namespace allomon::internal {

// The set for labels that are not known: "(other)" for each key.
inline constexpr LabelSetId kOtherLabels = 1;

inline constexpr uint32_t kMostLabelSets = 65536;
// The part of these that is reserved for sets with inner values replaced, when the others are used
// up.
inline constexpr uint32_t kKeptLabelSets = 1024;
inline constexpr size_t kMostSetBytes = size_t{32} << 20;

class LabelSets {
 public:
  // Interns `text`, in the form of label_text.h.  A new set is added only if there are fewer than
  // `most`.  Returns 0 if there is no room.
  LabelSetId Intern(std::string_view text, uint32_t most);
  // Most threads have no labels.
  LabelSet View(LabelSetId id) const {
    return __builtin_expect(id == 0, 1) ? LabelSet() : ViewSlow(id);
  }

  // kOtherLabels not counted.
  // Pairs with the release of an added set: sets below the size can be viewed.
  uint32_t size() const { return size_.load(std::memory_order_acquire); }

  // Taken around fork, so that the child never inherits a held lock.
  TickSafeLock& lock() ALLOMON_RETURNS_LOCK(lock_) { return lock_; }

 private:
  struct Record {
    LabelSetId id;
    uint32_t bytes;
    char text[1];
  };
  // Twice the maximum number of sets, so that every probe ends.
  static constexpr uint32_t kBuckets = 2 * kMostLabelSets;
  struct Buckets {
    std::atomic<uint64_t> words[kBuckets];  // hash << 32 | record; 0 is empty
  };

  LabelSet ViewSlow(LabelSetId id) const;
  LabelSetId Find(const Buckets& buckets, uint32_t hash, std::string_view text) const;
  LabelSetId AddLocked(uint32_t hash, std::string_view text) ALLOMON_REQUIRES(lock_);
  Buckets* BucketsLocked() ALLOMON_REQUIRES(lock_);
  const Record& RecordAt(BumpArena::Ref ref) const {
    return *static_cast<const Record*>(arena_.At(ref));
  }

  std::atomic<Buckets*> buckets_{nullptr};
  std::atomic<uint32_t> size_{0};
  size_t bytes_ = 0;  // of texts; under the lock
  BumpArena arena_;
  // id -> record
  SegmentedArray<std::atomic<uint32_t>, 4096, kMostLabelSets / 4096 + 1> refs_;
  TickSafeLock lock_;
};

// The table of the process.
extern LabelSets label_sets;

// ---- Counts of problems with labels.

// Counts for the whole process, which any thread may add to.  A set counts once for each scope in
// which something was sampled.
struct LabelCounts {
  std::atomic<uint64_t> others{0};          // sets for which there was no room
  std::atomic<uint64_t> cut_sets{0};        // with a key or a value that was too long
  std::atomic<uint64_t> crowded_sets{0};    // with labels left out because there were too many
  std::atomic<uint64_t> misplaced_pops{0};  // of scopes that were not the innermost
  std::atomic<uint64_t> broken_lists{0};    // a scope's memory was reused before its pop
};
extern LabelCounts label_counts;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_LABEL_SETS_H_
