// The statistics of a program's sites, and the decisions drawn from them.  See "Pretenuring" in
// runtime/README.md.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_SITE_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_SITE_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/internal/space/memory.h"
#include "runtime/internal/tables/site_state.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

// A count and the total that it is part of.
struct Share {
  uint64_t part = 0;
  uint64_t all = 0;

  void Add(bool in_part) {
    part += in_part ? 1 : 0;
    ++all;
  }
  // Makes older samples count less.
  void Halve() {
    part /= 2;
    all /= 2;
  }
  // The bounds of Wilson's score interval (Wilson 1927), with kDeviations standard deviations.
  double Low() const;
  double High() const;
};

// The record of a site.  Freed when neither the site nor a sample refers to it.
struct SiteRecord {
  SiteState* site;   // nullptr: destroyed
  size_t index = 0;  // in the table
  uint64_t holders = 1;
  Share promoted;  // share of the objects made young
  Share born_old;  // share of the born-old objects that lived at the next major collection
  uint64_t changes = 0;
};

// Any thread, including a collector's, may call all functions.  No user code runs and no malloc is
// called while the mutex is held.
class SiteTable {
 public:
  // When this many samples are counted, the older ones are halved.
  static constexpr uint64_t kMemory = 4096;

  // A wrong decision costs time, and is reversed.  So three deviations suffice; with more, a site
  // would be made old later.
  static constexpr double kDeviations = 3;
  static constexpr double kOldFrom = .9;
  static constexpr double kYoungBelow = .8;
  static constexpr double kLeastBornOld = .5;

  using States = std::vector<std::pair<std::string, bool>>;  // name, old

  static SiteTable& Get();

  static bool Knows(const SiteState& site) {
    return site.record_.load(std::memory_order_relaxed) != nullptr;
  }
  // Makes the site known, with the state that was loaded for it.
  void Meet(SiteState& site) {
    const allomon::internal::MutexHolder hold(mutex_);
    RecordOf(site);
  }
  // Returns the record of the site for a sample; nullptr without memory.  Release() or one of the
  // Notes ends the use.
  SiteRecord* Hold(SiteState& site);
  void Release(SiteRecord& record);
  void Forget(SiteState& site);

  // The findings of a collection.
  void NotePromoted(SiteRecord& record, bool promoted);
  void NoteBornOld(SiteRecord& record, bool lives);

  // The knowledge since the last change of the site's state.
  struct Counts {
    Share promoted;
    uint64_t changes = 0;  // of the state, in all
  };
  Counts CountsOf(const SiteState& site);
  // Sites with names.  Throws std::bad_alloc.
  States Save();
  void Load(States states);

  // Called around fork.
  void LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  SiteRecord* RecordOf(SiteState& site) ALLOMON_REQUIRES(mutex_);
  void Drop(SiteRecord& record) ALLOMON_REQUIRES(mutex_);
  static void CountPromoted(SiteRecord& record, bool promoted);
  static void CountBornOld(SiteRecord& record, bool lives);
  static void SetState(SiteRecord& record, bool old);
  bool WasLoadedOld(const SiteState& site) const ALLOMON_REQUIRES(mutex_);

  allomon::internal::Mutex mutex_;
  Vector<SiteRecord*> records_ ALLOMON_GUARDED_BY(mutex_);
  States loaded_ ALLOMON_GUARDED_BY(mutex_);
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_SITE_TABLE_H_
