#include "runtime/internal/large_space.h"

#include "runtime/internal/check.h"
#include "runtime/internal/young_range.h"

namespace allomon::gc::internal {

LargeSpace::~LargeSpace() {
  ClearMarks();
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

void LargeSpace::ClearMarks() {
  const MutexHolder hold(mutex_);
  for (LargeNode* node = first_; node != nullptr; node = node->next) node->marked = false;
}

void LargeSpace::Sweep() {
  const MutexHolder hold(mutex_);
  LargeNode** link = &first_;
  while (LargeNode* node = *link) {
    if (node->marked) {
      link = &node->next;
      continue;
    }
    *link = node->next;
    bytes_ -= node->bytes();
    backend::Free(node);
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
  for (LargeNode* node = first_; node != nullptr; node = node->next) {
    if (node->object() == object) return true;
  }
  return false;
}

}  // namespace allomon::gc::internal
