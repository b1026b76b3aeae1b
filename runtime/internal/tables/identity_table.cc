#include "runtime/internal/tables/identity_table.h"

#include "runtime/internal/object/value_word.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

size_t AddressMap::HomeOf(const Object* object) const {
  return MixWord(WordOf(object)) & (slots_.size() - 1);
}

size_t AddressMap::PlaceOf(Object* object) const {
  const size_t mask = slots_.size() - 1;
  size_t place = HomeOf(object);
  while (slots_[place] != 0 && entries_[slots_[place] - 1].object != object) {
    place = (place + 1) & mask;
  }
  return place;
}

const AddressMap::Entry* AddressMap::Find(Object* object) const {
  if (entries_.empty()) return nullptr;
  const uint32_t slot = slots_[PlaceOf(object)];
  return slot == 0 ? nullptr : &entries_[slot - 1];
}

bool AddressMap::Reserve(size_t entries) {
  if (entries <= slots_.size() / 2) return true;
  size_t slots = 64;
  while (slots < entries * 2) slots *= 2;
  if (!TryReserve(entries_, slots / 2) || !TryReserve(slots_, slots)) return false;
  slots_.resize(slots);
  Rebuild();
  return true;
}

void AddressMap::Rebuild() {
  slots_.assign(slots_.size(), 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (i + kAhead < entries_.size()) {
      __builtin_prefetch(&slots_[HomeOf(entries_[i + kAhead].object)], 1);
    }
    slots_[PlaceOf(entries_[i].object)] = static_cast<uint32_t>(i + 1);
  }
}

void AddressMap::Add(Entry entry) {
  ALLOMON_DCHECK_LT("inv.identity.room", entries_.size(), slots_.size() / 2);
  slots_[PlaceOf(entry.object)] = static_cast<uint32_t>(entries_.size() + 1);
  entries_.push_back(entry);
}

bool IdentityTable::HashOf(Object* object, uint64_t* hash) {
  const bool is_young = IsYoung(object);
  const AddressMap::Entry* const entry = (is_young ? young_ : old_).Find(object);
  if (entry != nullptr || !is_young) {
    *hash = entry != nullptr ? entry->hash : MixWord(WordOf(object));
    return true;
  }
  if (!young_.Reserve(young_.size() + 1)) return false;
  if (!old_.Reserve(old_.size() + young_.size() + 1)) return false;
  // Odd, as no address is.
  *hash = MixWord(2 * n_given_++ + 1);
  young_.Add({object, *hash});
  Count();
  return true;
}

}  // namespace allomon::gc::internal
