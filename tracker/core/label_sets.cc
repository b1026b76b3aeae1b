#include "tracker/core/label_sets.h"

#include <cstring>

#include "tracker/base/large_object.h"

namespace allomon::internal {

ALLOMON_LARGE_DATA LabelSets label_sets;

namespace {

constexpr char kOtherText[] = "(other)\0(other)";

// FNV-1a with a final mix: sets are short, and are looked up once for each scope.
uint32_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 32;
  return static_cast<uint32_t>((hash * 0x9e3779b97f4a7c15) >> 32);
}

}  // namespace

LabelSetId LabelSets::Intern(std::string_view text, uint32_t most) {
  const uint32_t hash = HashOf(text);
  // Acquire pairs with the release in BucketsLocked.
  const Buckets* const known = buckets_.load(std::memory_order_acquire);
  const LabelSetId id = known == nullptr ? 0 : Find(*known, hash, text);
  if (id != 0) return id;
  const TickSafeLockHolder hold(lock_);
  const Buckets* const buckets = BucketsLocked();
  if (buckets == nullptr) return 0;
  // Another thread may have interned the same set since.
  const LabelSetId found = Find(*buckets, hash, text);
  if (found != 0) return found;
  return size() < most ? AddLocked(hash, text) : 0;
}

LabelSetId LabelSets::Find(const Buckets& buckets, uint32_t hash, std::string_view text) const {
  for (uint32_t i = hash;; ++i) {
    // Acquire pairs with the release in AddLocked: the record is filled before its word is seen.
    const uint64_t word = buckets.words[i % kBuckets].load(std::memory_order_acquire);
    if (word == 0) return 0;
    if (static_cast<uint32_t>(word >> 32) != hash) continue;
    const Record& record = RecordAt(static_cast<uint32_t>(word));
    if (std::string_view(record.text, record.bytes) == text) return record.id;
  }
}

LabelSetId LabelSets::AddLocked(uint32_t hash, std::string_view text) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  ALLOMON_DCHECK_LT("inv.label.sets", size(), kMostLabelSets);
  const LabelSetId id = kOtherLabels + 1 + size();
  if (bytes_ + text.size() > kMostSetBytes || !refs_.Reserve(id)) return 0;
  const BumpArena::Ref ref = arena_.Allocate(offsetof(Record, text) + text.size());
  if (ref == 0) return 0;
  Record* const record = static_cast<Record*>(arena_.At(ref));
  record->id = id;
  record->bytes = static_cast<uint32_t>(text.size());
  memcpy(record->text, text.data(), text.size());
  bytes_ += text.size();
  // Pairs with the acquire in ViewSlow(): the text is there.
  refs_.At(id).store(ref, std::memory_order_release);
  size_.store(size() + 1, std::memory_order_release);
  Buckets& buckets = *buckets_.load(std::memory_order_relaxed);
  uint32_t place = hash;
  while (buckets.words[place % kBuckets].load(std::memory_order_relaxed) != 0) ++place;
  // Pairs with the acquire of a search without the lock: the record is complete.
  buckets.words[place % kBuckets].store(uint64_t{hash} << 32 | ref, std::memory_order_release);
  return id;
}

LabelSets::Buckets* LabelSets::BucketsLocked() {
  Buckets* buckets = buckets_.load(std::memory_order_relaxed);
  if (buckets != nullptr) return buckets;
  buckets = static_cast<Buckets*>(OwnMemory::Map(sizeof(Buckets)));
  // Pairs with the acquire of a search without the lock: the buckets are mapped.
  buckets_.store(buckets, std::memory_order_release);
  return buckets;
}

LabelSet LabelSets::ViewSlow(LabelSetId id) const {
  if (id == kOtherLabels) return LabelSet(id, {kOtherText, sizeof(kOtherText)});
  const std::atomic<uint32_t>* const ref = refs_.Find(id);
  // Pairs with the release in the function that adds a set.
  const BumpArena::Ref at = ref == nullptr ? 0 : ref->load(std::memory_order_acquire);
  if (at == 0) return {};
  const Record& record = RecordAt(at);
  return LabelSet(id, {record.text, record.bytes});
}

}  // namespace allomon::internal
