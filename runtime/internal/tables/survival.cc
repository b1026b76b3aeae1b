#include "runtime/internal/tables/survival.h"

namespace allomon::gc::internal {

Survival::~Survival() {
  for (const Vector<Sample>* samples : {&young_, &old_}) {
    for (const Sample& sample : *samples) SiteTable::Get().Release(*sample.record);
  }
}

void Survival::Begin(uint32_t seed) {
  if (!TryReserve(old_, kMostFollowed) || !TryReserve(young_, kMostFollowed)) return;
  random_.seed(seed * 2654435769u);  // 2^32 divided by the golden ratio: spreads the first draws
  words_left_ = Draw(kFirstGapWords);
  old_words_left_ = Draw(kMeanOldGapWords);
}

// Draws evenly distributed gaps, so that they do not align with a period of the program.
int64_t Survival::Draw(int64_t mean) {
  return std::uniform_int_distribution<int64_t>(1, 2 * mean - 1)(random_);
}

bool Survival::Take(uint64_t words) {
  Pass(words);
  if (words_left_ > 0) return false;
  words_left_ = Draw(++turns_ < kFirstTurns ? kFirstGapWords : kMeanGapWords);
  return true;
}

Survival::Turn Survival::TurnOfOld(uint64_t words) {
  if (old_words_left_ > static_cast<int64_t>(words)) return Turn::kNone;
  old_words_left_ = Draw(kMeanOldGapWords);
  young_turn_ = !young_turn_;
  return young_turn_ ? Turn::kYoung : Turn::kOld;
}

void Survival::Follow(Vector<Sample>& samples, SiteState& site, Object* object) {
  if (samples.size() == samples.capacity()) return;
  SiteRecord* const record = SiteTable::Get().Hold(site);
  if (record != nullptr) samples.push_back({object, record});
}

// A later collection judges an object that stays without tenure.
void Survival::AfterMinor() {
  size_t kept = 0;
  for (const Sample& sample : young_) {
    const uintptr_t header = HeaderOf(sample.object);
    const bool moved = (header & kForwardedBit) != 0;
    const bool stays = !moved && (header & kStaysBit) != 0;
    if (stays && (header & kTenuredBit) == 0) {
      young_[kept++] = sample;
      continue;
    }
    SiteTable::Get().NotePromoted(*sample.record, moved || stays);
  }
  young_.resize(kept);
}

}  // namespace allomon::gc::internal
