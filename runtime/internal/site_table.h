// What is known of the sites of a program, and what follows from it.  See "Pretenuring" in
// runtime/README.md.
#ifndef ALLOMON_RUNTIME_INTERNAL_SITE_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_SITE_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/internal/memory.h"
#include "runtime/site.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

// How many of how many.
struct Share {
  uint64_t part = 0;
  uint64_t all = 0;

  void Add(bool in_part) {
    part += in_part ? 1 : 0;
    ++all;
  }
  // So that what was long ago counts less.
  void Halve() {
    part /= 2;
    all /= 2;
  }
  // The bounds of Wilson's score interval (Wilson 1927), with kDeviations standard deviations.
  double Low() const;
  double High() const;
};

// Of a site.  Freed when neither the site nor a sample refers to it.
struct SiteRecord {
  Site* site;        // nullptr: destroyed
  size_t index = 0;  // in the table
  uint64_t holders = 1;
  Share promoted;  // of the objects that were made young
  Share born_old;  // that lived at the next major collection
  uint64_t changes = 0;
};

// All functions on any thread, and on a collector's.  No user code runs and no malloc is called
// while the mutex is held.
class SiteTable {
 public:
  // From this many of the samples on, the older ones count half.
  static constexpr uint64_t kMemory = 4096;

  // A wrong decision costs time, and is taken back.  So three deviations are enough; with more, a
  // site would be old later.
  static constexpr double kDeviations = 3;
  static constexpr double kOldFrom = .9;
  static constexpr double kYoungBelow = .8;
  static constexpr double kLeastBornOld = .5;

  using States = std::vector<std::pair<std::string, bool>>;  // name, old

  static SiteTable& Get();

  static bool Knows(const Site& site) {
    return site.record_.load(std::memory_order_relaxed) != nullptr;
  }
  // From now on the site is known, and has the state that was loaded.
  void Meet(Site& site) {
    const allomon::internal::MutexHolder hold(mutex_);
    RecordOf(site);
  }
  // The record of the site, for a sample; nullptr without memory.  Release() or one of the Notes
  // ends the use.
  SiteRecord* Hold(Site& site);
  void Release(SiteRecord& record);
  void Forget(Site& site);

  // What a collection has found out.
  void NotePromoted(SiteRecord& record, bool promoted);
  void NoteBornOld(SiteRecord& record, bool lives);

  SiteSurvival SurvivalOf(const Site& site);
  // Sites with names.  Throws std::bad_alloc.
  States Save();
  void Load(States states);

  // For fork.
  void LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  SiteRecord* RecordOf(Site& site) ALLOMON_REQUIRES(mutex_);
  void Drop(SiteRecord& record) ALLOMON_REQUIRES(mutex_);
  static void CountPromoted(SiteRecord& record, bool promoted);
  static void CountBornOld(SiteRecord& record, bool lives);
  static void SetState(SiteRecord& record, bool old);
  bool WasLoadedOld(const Site& site) const ALLOMON_REQUIRES(mutex_);

  allomon::internal::Mutex mutex_;
  Vector<SiteRecord*> records_ ALLOMON_GUARDED_BY(mutex_);
  States loaded_ ALLOMON_GUARDED_BY(mutex_);
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SITE_TABLE_H_
