#include "runtime/value_stack.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

ValueRange::ValueRange(Slot* inside, size_t n_inside, size_t most)
    : slots_(inside), capacity_(std::min(n_inside, most)), inside_(inside), most_(most) {
  AddValueStack(slots_, &count_);
}

ValueRange::~ValueRange() {
  RemoveValueStack(slots_);
  if (slots_ != inside_) backend::Free(slots_);
}

// Takes the memory from the backend: malloc might sample it, which runs user code that may collect.
void ValueRange::MakeRoom() {
  if (capacity_ >= most_) {
    throw std::length_error("gc::ValueStack: " + std::to_string(most_) +
                            " values are its limit; does the program recurse without end?");
  }
  const size_t capacity = std::min(most_, capacity_ * 2 + 64);
  Slot* const larger = static_cast<Slot*>(backend::Malloc(capacity * sizeof(Slot)));
  if (larger == nullptr) throw std::bad_alloc();
  memcpy(static_cast<void*>(larger), slots_, count_ * sizeof(Slot));
  MoveValueStack(slots_, larger);
  if (slots_ != inside_) backend::Free(slots_);
  slots_ = larger;
  capacity_ = capacity;
}

}  // namespace allomon::gc::internal
