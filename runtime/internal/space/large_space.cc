#include "runtime/internal/space/large_space.h"

#include <algorithm>

#include "runtime/internal/object/check.h"
#include "runtime/internal/space/young_range.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

LargeSpace::~LargeSpace() {
  ClearMarks();
  SweepAll();
  Sweep(SIZE_MAX);
}

// Claims the bytes together with an entry in the list of nodes.
bool LargeSpace::ClaimBytes(size_t bytes, size_t most_bytes) {
  const MutexHolder hold(mutex_);
  if (bytes > most_bytes || bytes_ > most_bytes - bytes) return false;
  const size_t nodes = nodes_.size() + n_claimed_ + 1;
  if (nodes > nodes_.capacity() && !TryReserve(nodes_, nodes * 2 + 64)) return false;
  ++n_claimed_;
  bytes_ += bytes;
  return true;
}

void LargeSpace::GiveBytesBack(size_t bytes) {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.large.claims", n_claimed_ > 0 && bytes_ >= bytes);
  --n_claimed_;
  bytes_ -= bytes;
}

void LargeSpace::Link(LargeNode* node) {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.large.claims", n_claimed_ > 0 && nodes_.size() < nodes_.capacity());
  --n_claimed_;
  node->mark = marking_;
  nodes_.push_back(node);
  if (!sweeping_ && nodes_.size() - n_sorted_ >= kMergedAtOnce) MergeLocked();
}

// Merges the recent nodes into the sorted ones.
void LargeSpace::MergeLocked() {
  LargeNode* recent[kMergedAtOnce];
  const size_t n = std::min(nodes_.size() - n_sorted_, kMergedAtOnce);
  LargeNode** const end = nodes_.data() + n_sorted_;
  std::copy(end, end + n, recent);
  std::sort(recent, recent + n);
  LargeNode** from = end;
  LargeNode** to = end + n;
  for (size_t left = n; left > 0;) {
    const bool is_recent = from == nodes_.data() || *(from - 1) < recent[left - 1];
    *--to = is_recent ? recent[--left] : *--from;
  }
  ALLOMON_DCHECK(
      "inv.large.sorted",
      std::is_sorted(nodes_.begin(), nodes_.begin() + static_cast<ptrdiff_t>(n_sorted_ + n)));
  n_sorted_ += n;
}

void LargeSpace::SortLocked() {
  ALLOMON_DCHECK("inv.mark.cycle", !sweeping_);
  if (nodes_.size() - n_sorted_ <= kMergedAtOnce) return MergeLocked();
  std::sort(nodes_.begin(), nodes_.end());
  n_sorted_ = nodes_.size();
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

void LargeSpace::Sweep(size_t keep_bytes) {
  BeginSweep(keep_bytes);
  SweepAll();
}

void LargeSpace::SweepAll() {
  Dead dead;
  while (SweepNext(dead)) Free(dead);
}

void LargeSpace::Free(Dead& dead) {
  while (dead.count > 0) {
    LargeNode* const node = dead.nodes[--dead.count];
    if (!dead.keeps_pages) ForgetWholePages(node, node->bytes());
    backend::Free(node);
  }
}

void LargeSpace::BeginSweep(size_t keep_bytes) {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.mark.cycle", !sweeping_);
  sweeping_ = true;
  sweep_kept_ = sweep_next_ = sweep_sorted_ = 0;
  sweep_end_ = nodes_.size();
  sweep_keep_bytes_ = keep_bytes;
}

// Appends the nodes added during the sweep to the nodes that the sweep kept.
void LargeSpace::EndSweepLocked() {
  const auto to = std::copy(nodes_.begin() + static_cast<ptrdiff_t>(sweep_end_), nodes_.end(),
                            nodes_.begin() + static_cast<ptrdiff_t>(sweep_kept_));
  ALLOMON_DCHECK_LE("inv.large.sorted", sweep_sorted_, sweep_kept_);
  nodes_.resize(static_cast<size_t>(to - nodes_.begin()));
  n_sorted_ = sweep_sorted_;
  sweeping_ = false;
}

bool LargeSpace::SweepNext(Dead& dead) {
  const MutexHolder hold(mutex_);
  if (!sweeping_) return false;
  const size_t end = std::min(sweep_next_ + kSweptAtOnce, sweep_end_);
  dead.keeps_pages = sweep_keep_bytes_ > 0;
  // The nodes after those to keep are another batch.
  for (; sweep_next_ < end && dead.keeps_pages == (sweep_keep_bytes_ > 0); ++sweep_next_) {
    LargeNode* const node = nodes_[sweep_next_];
    if (node->mark == marking_) {
      nodes_[sweep_kept_++] = node;
      if (sweep_next_ < n_sorted_) sweep_sorted_ = sweep_kept_;
      continue;
    }
    dead.nodes[dead.count++] = node;
    ALLOMON_DCHECK("inv.large.claims", bytes_ >= node->bytes());
    ALLOMON_DCHECK_LE("inv.large.sweep", dead.count, kSweptAtOnce);
    bytes_ -= node->bytes();
    if (!dead.keeps_pages) dropped_bytes_.fetch_add(node->bytes(), std::memory_order_relaxed);
    sweep_keep_bytes_ -= std::min(sweep_keep_bytes_, node->bytes());
  }
  ALLOMON_DCHECK_LE("inv.large.sweep", sweep_kept_, sweep_next_);
  if (sweep_next_ == sweep_end_) EndSweepLocked();
  return true;
}

void LargeSpace::FindBounds(uintptr_t* low, uintptr_t* high) {
  const MutexHolder hold(mutex_);
  SortLocked();
  *low = *high = 0;
  if (nodes_.empty()) return;
  *low = reinterpret_cast<uintptr_t>(nodes_.front());
  *high = reinterpret_cast<uintptr_t>(nodes_.back()) + nodes_.back()->bytes();
}

Object* LargeSpace::ObjectAt(uintptr_t byte) {
  const MutexHolder hold(mutex_);
  const auto is_before = [](uintptr_t address, const LargeNode* node) {
    return address < reinterpret_cast<uintptr_t>(node);
  };
  const auto behind = std::upper_bound(nodes_.begin(), nodes_.end(), byte, is_before);
  if (behind == nodes_.begin() || !(*(behind - 1))->Holds(byte)) return nullptr;
  return (*(behind - 1))->object();
}

bool LargeSpace::Contains(Object* object) {
  const MutexHolder hold(mutex_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (sweeping_ && i >= sweep_kept_ && i < sweep_next_) continue;
    if (nodes_[i]->object() == object) return true;
  }
  return false;
}

}  // namespace allomon::gc::internal
