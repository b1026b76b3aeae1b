// An interpreter's stack of references or Values.
//
//   gc::ValueStack<gc::Value> stack;
//   stack.Push(gc::Value::Int(1));
//   stack.Push(list);
//   if (stack.Top().is_int()) stack[base + 2] = stack.Top();
//
// The roots are precise: exactly the values below the top are kept alive.
#ifndef ALLOMON_RUNTIME_VALUE_STACK_H_
#define ALLOMON_RUNTIME_VALUE_STACK_H_

#include <cstddef>

#include "runtime/handle.h"
#include "runtime/internal/object/check.h"
#include "runtime/make.h"

namespace allomon::gc {

// A slot of a ValueStack.  Converts to Local<T>; has is(), cast() and the like without making a
// root. Valid until a Push() or Resize(), so it cannot be copied.
template <typename T>
class StackSlot : public internal::OpsOf<StackSlot<T>, T> {
 public:
  StackSlot() = default;
  StackSlot(const StackSlot&) = delete;
  StackSlot& operator=(const StackSlot& other) { return Set(other.object_); }
  StackSlot& operator=(Local<T> value) { return Set(internal::RawOf(value)); }
  StackSlot& operator=(const Field<T>& value) { return Set(internal::RawOf(value)); }
  StackSlot& operator=(std::nullptr_t) { return Set(nullptr); }
  template <typename From, typename = internal::IfConverts<From, T>>
  StackSlot& operator=(const From& from) {
    return Set(internal::RawOf(from));
  }

  T* operator->() const { return reinterpret_cast<T*>(object_); }

 private:
  template <typename U>
  friend internal::Object* internal::RawOf(const StackSlot<U>& slot);

  StackSlot& Set(internal::Object* object) {
    object_ = object;
    return *this;
  }

  internal::Object* object_ = nullptr;
};

namespace internal {

template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(const StackSlot<T>& slot) {
  return slot.object_;
}

// The slot is passed to make() as a Local, not by its address: callbacks may push and so move the
// slots.
template <typename U>
struct SlowArgument<StackSlot<U>> {
  using Type = Local<U>;
};

template <typename From, typename T>
using IfPushes = std::enable_if_t<Converts<From, T>::value || std::is_same_v<From, Field<T>>>;

// A registered range of roots, on the thread that makes it.
class ValueRange {
 public:
  ValueRange(Slot* inside, size_t n_inside, size_t most);
  ~ValueRange();
  ValueRange(const ValueRange&) = delete;
  ValueRange& operator=(const ValueRange&) = delete;

 protected:
  // Makes room for one more value, which moves the slots.  Not a safepoint.
  __attribute__((cold, noinline)) void MakeRoom();
  Slot* slots_;
  size_t count_ = 0;
  size_t capacity_;

 private:
  Slot* const inside_;
  const size_t most_;
};

}  // namespace internal

// Belongs to the thread that makes it.  Up to kInside values lie in the object itself, more in
// memory that grows.  Cost: a push is a comparison and two stores; collections visit the values
// below the top.
template <typename T, size_t kInside = 64>
class ValueStack : private internal::ValueRange {
 public:
  // A push beyond `most_values` throws std::length_error: so that an interpreter can report an
  // endless recursion before the native stack overflows.
  explicit ValueStack(size_t most_values = kMostValues)
      : ValueRange(reinterpret_cast<internal::Slot*>(values_), kInside, most_values) {}

  static constexpr size_t kMostValues = size_t{1} << 27;

  // Throws std::length_error or std::bad_alloc; then nothing was pushed.
  ALLOMON_GC_INLINE void Push(Handle<T> value) { PushRaw(internal::RawOf(value)); }
  template <typename From, typename = internal::IfPushes<From, T>>
  ALLOMON_GC_INLINE void Push(const From& from) {
    PushRaw(internal::RawOf(from));
  }

  // Pop() and the following functions abort with rule.value_stack if there is no such value.
  Local<T> Pop() {
    ALLOMON_GC_CHECK(count_ > 0, "rule.value_stack: underflow");
    return internal::LocalOf<T>(slots_[--count_]);
  }
  // 0 is the top.
  Local<T> Peek(size_t depth = 0) const {
    ALLOMON_GC_CHECK(depth < count_, "rule.value_stack: underflow");
    return internal::LocalOf<T>(slots_[count_ - 1 - depth]);
  }
  // The place itself.
  ALLOMON_GC_INLINE StackSlot<T>& Top(size_t depth = 0) {
    ALLOMON_GC_CHECK(depth < count_, "rule.value_stack: underflow");
    return At(count_ - 1 - depth);
  }
  // Indexes from the bottom.
  ALLOMON_GC_INLINE StackSlot<T>& operator[](size_t i) {
    ALLOMON_GC_CHECK(i < count_, "rule.value_stack: no such value");
    return At(i);
  }
  ALLOMON_GC_INLINE void Drop(size_t n = 1) {
    ALLOMON_GC_CHECK(n <= count_, "rule.value_stack: underflow");
    count_ -= n;
  }
  // Pushes nulls, or drops values, until the stack has `size`.  Throws as Push() does.
  void Resize(size_t size) {
    while (count_ < size) PushRaw(nullptr);
    count_ = size;
  }
  size_t size() const { return count_; }

 private:
  ALLOMON_GC_INLINE void PushRaw(internal::Object* object) {
    if (__builtin_expect(count_ == capacity_, 0)) {
      PushSlow(object);
    } else {
      slots_[count_++] = object;
    }
  }
  // No collection lies in between.
  __attribute__((cold, noinline)) void PushSlow(internal::Object* object) {
    MakeRoom();
    slots_[count_++] = object;
  }
  ALLOMON_GC_INLINE StackSlot<T>& At(size_t i) {
    return *reinterpret_cast<StackSlot<T>*>(slots_ + i);
  }

  static_assert(sizeof(StackSlot<T>) == sizeof(internal::Slot));
  StackSlot<T> values_[kInside];
};

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_VALUE_STACK_H_
