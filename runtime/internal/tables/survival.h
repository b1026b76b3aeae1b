// Chooses the objects of sites that a mutator follows, to find which sites make long-lived objects.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_SURVIVAL_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_SURVIVAL_H_

#include <cstdint>
#include <limits>
#include <random>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/tables/site_table.h"

namespace allomon::gc::internal {

// Used by the mutator, and by the collector while the world is stopped.  Follows nothing before
// Begin().
class Survival {
 public:
  // Words of the nursery between two followed objects: at first, and after kFirstTurns turns.
  static constexpr int64_t kFirstGapWords = 2048;
  static constexpr int64_t kMeanGapWords = 8192;
  static constexpr uint32_t kFirstTurns = 512;
  // Words of objects of old sites between two turns.  The object at a turn is alternately made
  // young and followed, or followed as it is.
  static constexpr int64_t kMeanOldGapWords = 512;
  // The most objects followed at a time; further objects of the cycle are not followed.
  static constexpr size_t kMostFollowed = 1024;

  enum class Turn : uint8_t { kNone, kYoung, kOld };

  Survival() = default;
  ~Survival();
  Survival(const Survival&) = delete;
  Survival& operator=(const Survival&) = delete;

  bool on() const { return young_.capacity() != 0; }
  // Without memory nothing is followed.
  void Begin(uint32_t seed);

  // Returns the words of the nursery until the next object to follow, if it belongs to a site.
  uint64_t words_left() const { return words_left_ > 0 ? static_cast<uint64_t>(words_left_) : 0; }
  void Pass(uint64_t words) { words_left_ -= static_cast<int64_t>(words); }
  // Counts an object of `words`.  Returns whether to follow it.
  bool Take(uint64_t words);
  // The counterparts for objects of old sites: words until the next turn, and the turn of an object
  // of `words`.
  uint64_t old_words_left() const {
    return old_words_left_ > 0 ? static_cast<uint64_t>(old_words_left_) : 0;
  }
  void PassOld(uint64_t words) { old_words_left_ -= static_cast<int64_t>(words); }
  Turn TurnOfOld(uint64_t words);

  void FollowYoung(SiteState& site, Object* object) { Follow(young_, site, object); }
  void FollowOld(SiteState& site, Object* object) { Follow(old_, site, object); }

  // Called after the evacuation of a minor collection, while headers tell which objects were moved.
  void AfterMinor();
  // Called after the marking.  Old objects that this marking has not looked for are judged by a
  // later one.
  template <typename IsMarked, typename WasThere>
  void AfterMajor(IsMarked is_marked, WasThere was_there);

 private:
  struct Sample {
    Object* object;
    SiteRecord* record;  // held
  };

  static void Follow(Vector<Sample>& samples, SiteState& site, Object* object);
  int64_t Draw(int64_t mean);

  int64_t words_left_ = std::numeric_limits<int64_t>::max();
  int64_t old_words_left_ = 0;
  bool young_turn_ = false;  // was the last one
  uint32_t turns_ = 0;       // turns of the nursery
  std::minstd_rand random_;
  Vector<Sample> young_;  // objects in the nursery, or staying in place there
  Vector<Sample> old_;    // objects born old since the last major collection
};

template <typename IsMarked, typename WasThere>
void Survival::AfterMajor(IsMarked is_marked, WasThere was_there) {
  size_t kept = 0;
  for (const Sample& sample : old_) {
    if (!was_there(sample.object)) {
      old_[kept++] = sample;
      continue;
    }
    SiteTable::Get().NoteBornOld(*sample.record, is_marked(sample.object));
  }
  old_.resize(kept);
  kept = 0;
  for (const Sample& sample : young_) {
    if (is_marked(sample.object)) {
      young_[kept++] = sample;
      continue;
    }
    SiteTable::Get().NotePromoted(*sample.record, false);
  }
  young_.resize(kept);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_SURVIVAL_H_
