#include "runtime/internal/large_space.h"

#include <utility>

#include "runtime/internal/check.h"
#include "runtime/internal/young_range.h"

namespace allomon::gc::internal {

LargeSpace::~LargeSpace() {
  ClearMarks();
  while (SweepNext()) {
  }
  Sweep();
}

bool LargeSpace::ClaimBytes(size_t bytes, size_t most_bytes) {
  const MutexHolder hold(mutex_);
  if (bytes > most_bytes || bytes_ > most_bytes - bytes) return false;
  bytes_ += bytes;
  return true;
}

void LargeSpace::GiveBytesBack(size_t bytes) {
  const MutexHolder hold(mutex_);
  bytes_ -= bytes;
}

void LargeSpace::Link(LargeNode* node) {
  const MutexHolder hold(mutex_);
  node->mark = marking_;
  node->next = first_;
  first_ = node;
}

// The bytes are claimed before the backend is asked: when threads allocate at once, each sees the
// bytes that the others are about to have.
Object* LargeSpace::Allocate(uint64_t words, size_t most_bytes) {
  const size_t bytes = BytesFor(words);
  if (!ClaimBytes(bytes, most_bytes)) return nullptr;
  void* const block = backend::Calloc(bytes);
  if (block == nullptr) {
    GiveBytesBack(bytes);
    return nullptr;
  }
  ALLOMON_GC_CHECK(LiesApart(block, bytes), "inv.old.apart: a large object among the nurseries");
  LargeNode* const node = static_cast<LargeNode*>(block);
  node->words = words;
  Link(node);
  return node->object();
}

void LargeSpace::ClearMarks() { ++marking_; }

void LargeSpace::Sweep() {
  BeginSweep();
  while (SweepNext()) {
  }
}

void LargeSpace::BeginSweep() {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.mark.cycle", to_sweep_ == nullptr);
  to_sweep_ = std::exchange(first_, nullptr);
}

bool LargeSpace::SweepNext() {
  constexpr int kAtOnce = 16;  // a few microseconds, if all of them are alive
  LargeNode* dead = nullptr;
  {
    const MutexHolder hold(mutex_);
    if (to_sweep_ == nullptr) return false;
    for (int i = 0; i < kAtOnce && to_sweep_ != nullptr; ++i) {
      LargeNode* const node = std::exchange(to_sweep_, to_sweep_->next);
      LargeNode*& list = node->mark == marking_ ? first_ : dead;
      node->next = std::exchange(list, node);
      if (node == dead) bytes_ -= node->bytes();
    }
  }
  while (dead != nullptr) backend::Free(std::exchange(dead, dead->next));
  return true;
}

void LargeSpace::RemoveSlotsOfDead(Vector<Slot*>& slots, Vector<Slot*>::iterator first) {
  const MutexHolder hold(mutex_);
  std::sort(first, slots.end());
  for (LargeNode* node = first_; node != nullptr; node = node->next) {
    if (node->mark == marking_) continue;
    const auto from = std::lower_bound(first, slots.end(), reinterpret_cast<Slot*>(node));
    auto to = from;
    while (to != slots.end() && node->Holds(*to)) ++to;
    slots.erase(from, to);
  }
}

void LargeSpace::FindBounds(uintptr_t* low, uintptr_t* high) {
  const MutexHolder hold(mutex_);
  *low = *high = 0;
  for (LargeNode* node = first_; node != nullptr; node = node->next) {
    const uintptr_t start = reinterpret_cast<uintptr_t>(node);
    *low = *low == 0 ? start : std::min(*low, start);
    *high = std::max(*high, start + node->bytes());
  }
}

bool LargeSpace::Contains(Object* object) {
  const MutexHolder hold(mutex_);
  for (const LargeNode* list : {first_, to_sweep_}) {
    for (const LargeNode* node = list; node != nullptr; node = node->next) {
      if (node->object() == object) return true;
    }
  }
  return false;
}

}  // namespace allomon::gc::internal
