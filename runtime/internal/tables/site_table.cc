#include "runtime/internal/tables/site_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "tracker/base/check.h"
#include "tracker/base/default_float.h"

namespace allomon::gc::internal {

using allomon::internal::MutexHolder;

static double WilsonBound(const Share& share, double side) {
  if (share.all == 0) return side < 0 ? 0 : 1;
  const allomon::internal::DefaultFloat our_float;
  const double n = static_cast<double>(share.all);
  const double k = static_cast<double>(share.part);
  constexpr double z = SiteTable::kDeviations;
  const double spread = side * z * std::sqrt(k * (n - k) / n + z * z / 4);
  return our_float.Computed((k + z * z / 2 + spread) / (n + z * z));
}

double Share::Low() const { return WilsonBound(*this, -1); }
double Share::High() const { return WilsonBound(*this, 1); }

// Never destroyed: heaps in static storage may live longer.
SiteTable& SiteTable::Get() {
  alignas(SiteTable) static char storage[sizeof(SiteTable)];
  static SiteTable* const table = new (storage) SiteTable;
  return *table;
}

bool SiteTable::WasLoadedOld(const SiteState& site) const {
  if (site.name() == nullptr) return false;
  const auto at = std::lower_bound(loaded_.begin(), loaded_.end(), site.name(),
                                   [](const auto& a, const char* b) { return a.first < b; });
  return at != loaded_.end() && at->first == site.name() && at->second;
}

SiteRecord* SiteTable::RecordOf(SiteState& site) {
  SiteRecord* record = site.record_.load(std::memory_order_relaxed);
  if (record != nullptr) return record;
  if (records_.size() == records_.capacity() && !TryReserve(records_, 2 * records_.size() + 16)) {
    return nullptr;
  }
  void* const memory = backend::Malloc(sizeof(SiteRecord));
  if (memory == nullptr) return nullptr;
  record = new (memory) SiteRecord{&site, records_.size(), 1, {}, {}, 0};
  records_.push_back(record);
  ALLOMON_DCHECK_EQ("inv.site.place", record->index + 1, records_.size());
  site.record_.store(record, std::memory_order_relaxed);
  if (WasLoadedOld(site)) SetState(*record, true);
  return record;
}

SiteRecord* SiteTable::Hold(SiteState& site) {
  const MutexHolder hold(mutex_);
  SiteRecord* const record = RecordOf(site);
  if (record != nullptr) ++record->holders;
  return record;
}

void SiteTable::Drop(SiteRecord& record) {
  ALLOMON_DCHECK_LT("inv.site.held", uint64_t{0}, uint64_t{record.holders});
  ALLOMON_DCHECK_EQ("inv.site.place", records_[record.index], &record);
  if (--record.holders != 0) return;
  records_[record.index] = records_.back();
  records_[record.index]->index = record.index;
  records_.pop_back();
  backend::Free(&record);
}

void SiteTable::Release(SiteRecord& record) {
  const MutexHolder hold(mutex_);
  Drop(record);
}

void SiteTable::Forget(SiteState& site) {
  const MutexHolder hold(mutex_);
  SiteRecord* const record = site.record_.exchange(nullptr, std::memory_order_relaxed);
  if (record == nullptr) return;
  ALLOMON_DCHECK_EQ("inv.site.place", record->site, &site);
  record->site = nullptr;
  Drop(*record);
}

// Resets the counts, which are of objects made in the previous state.
void SiteTable::SetState(SiteRecord& record, bool old) {
  ALLOMON_DCHECK_NE("inv.site.place", record.site, nullptr);
  record.promoted = record.born_old = {};
  ++record.changes;
  record.site->allocates_old_.store(old, std::memory_order_relaxed);
}

// Returns the samples that a decision needs: more after each change of the site's state.
static uint64_t LeastSamples(uint64_t changes) {
  return std::min<uint64_t>(SiteTable::kMemory / 2, uint64_t{64} << std::min<uint64_t>(changes, 6));
}

void SiteTable::CountPromoted(SiteRecord& record, bool promoted) {
  record.promoted.Add(promoted);
  const bool old = record.site->allocates_old();
  const bool enough = record.promoted.all >= LeastSamples(record.changes);
  if (!old && enough && record.promoted.Low() >= kOldFrom) SetState(record, true);
  if (old && record.promoted.High() < kYoungBelow) SetState(record, false);
  if (record.promoted.all >= kMemory) record.promoted.Halve();
}

// Dead old objects keep younger ones alive until a major collection, even followed ones.  So the
// promoted share does not reveal that a site has changed; the share of born-old objects that live
// does.
void SiteTable::CountBornOld(SiteRecord& record, bool lives) {
  record.born_old.Add(lives);
  if (record.born_old.High() < kLeastBornOld) SetState(record, false);
  if (record.born_old.all >= kMemory) record.born_old.Halve();
}

void SiteTable::NotePromoted(SiteRecord& record, bool promoted) {
  const MutexHolder hold(mutex_);
  if (record.site != nullptr) CountPromoted(record, promoted);
  Drop(record);
}

void SiteTable::NoteBornOld(SiteRecord& record, bool lives) {
  const MutexHolder hold(mutex_);
  if (record.site != nullptr && record.site->allocates_old()) CountBornOld(record, lives);
  Drop(record);
}

SiteTable::Counts SiteTable::CountsOf(const SiteState& site) {
  const MutexHolder hold(mutex_);
  const SiteRecord* const record = site.record_.load(std::memory_order_relaxed);
  if (record == nullptr) return {};
  return {record->promoted, record->changes};
}

// Appends the name with its end.
static bool Append(Vector<char>& text, const char* name) {
  const size_t length = strlen(name) + 1;
  if (text.capacity() - text.size() < length && !TryReserve(text, 2 * text.size() + length)) {
    return false;
  }
  text.insert(text.end(), name, name + length);
  return true;
}

// Copies the names first, without malloc, because they belong to the sites.
SiteTable::States SiteTable::Save() {
  Vector<char> names;
  Vector<char> old;
  bool has_room = true;
  {
    const MutexHolder hold(mutex_);
    has_room = TryReserve(old, records_.size());
    for (const SiteRecord* record : records_) {
      const SiteState* const site = record->site;
      if (!has_room || site == nullptr || site->name() == nullptr) continue;
      has_room = Append(names, site->name());
      old.push_back(site->allocates_old());
    }
  }
  if (!has_room) throw std::bad_alloc();
  States states;
  const char* name = names.data();
  for (const char is_old : old) {
    states.emplace_back(name, is_old != 0);
    name += states.back().first.size() + 1;
  }
  ALLOMON_DCHECK_EQ("inv.site.names", name, names.data() + names.size());
  std::sort(states.begin(), states.end());
  return states;
}

void SiteTable::Load(States states) {
  std::sort(states.begin(), states.end());
  const MutexHolder hold(mutex_);
  loaded_.swap(states);  // the old table is freed after the lock is released
  for (SiteRecord* record : records_) {
    const SiteState* const site = record->site;
    if (site == nullptr || site->allocates_old() || !WasLoadedOld(*site)) continue;
    SetState(*record, true);
  }
}

}  // namespace allomon::gc::internal
