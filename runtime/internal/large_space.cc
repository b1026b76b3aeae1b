#include "runtime/internal/large_space.h"

namespace allomon::gc::internal {

LargeSpace::~LargeSpace() {
  ClearMarks();
  Sweep();
}

Object* LargeSpace::Allocate(uint64_t words) {
  void* block = backend::Calloc(BytesFor(words));
  if (block == nullptr) return nullptr;
  LargeNode* node = static_cast<LargeNode*>(block);
  node->words = words;
  std::lock_guard<std::mutex> hold(mutex_);
  node->next = first_;
  first_ = node;
  bytes_ += node->bytes();
  return node->object();
}

void LargeSpace::ClearMarks() {
  for (LargeNode* node = first_; node != nullptr; node = node->next) node->marked = false;
}

void LargeSpace::Sweep() {
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

bool LargeSpace::Contains(Object* object) const {
  for (LargeNode* node = first_; node != nullptr; node = node->next) {
    if (node->object() == object) return true;
  }
  return false;
}

}  // namespace allomon::gc::internal
