// Stores into many elements of an array, with one barrier for all of them; arrays and strings that
// grow.
//
//   gc::fill_array(array, value);
//   gc::copy_array(to, 3, from, 0, 10);                // may overlap
//   gc::Local<gc::GrowableArray<Cell>> all = gc::make_growable<Cell>();
//   all->push(cell);
//   gc::Local<gc::StringBuilder> text = gc::make_string_builder();
//   text->append("abc");
//
// As for single elements, two threads need a lock to share an array.
#ifndef ALLOMON_RUNTIME_BULK_H_
#define ALLOMON_RUNTIME_BULK_H_

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/array.h"
#include "runtime/handle.h"
#include "runtime/internal/collect/barrier.h"
#include "runtime/make.h"

namespace allomon::gc {

namespace internal {

inline void CheckRange(size_t begin, size_t count, size_t length) {
  ALLOMON_GC_CHECK(begin <= length && count <= length - begin,
                   "rule.bounds: a range of elements out of range");
}

// The place of the element, which may be the one behind the last.
template <typename T>
Slot* SlotAt(Handle<Array<T>> array, size_t i) {
  return SlotsOf(Access::Raw(array)) + 1 + i;
}

}  // namespace internal

// These functions are no safepoints.  They abort with rule.bounds if a range is out of range.

// Stores the value into elements [begin, end).  Cost: that of a memset, unless the array is old and
// the value young.
template <typename T>
void fill_array(Handle<Array<T>> array, size_t begin, size_t end, Handle<T> value) {
  internal::CheckRange(begin, end - begin, array->length());
  internal::FillSlots(internal::SlotAt<T>(array, begin), end - begin, internal::Access::Raw(value));
}
template <typename T>
void fill_array(Handle<Array<T>> array, Handle<T> value) {
  fill_array<T>(array, 0, array->length(), value);
}

// Copies `count` elements from from[begin] on to to[at] and the following ones.  The ranges may
// overlap.  Cost: that of a memmove and of reading the elements, unless `to` is old and some
// element is young.
template <typename T>
void copy_array(Handle<Array<T>> to, size_t at, Handle<Array<T>> from, size_t begin, size_t count) {
  internal::CheckRange(at, count, to->length());
  internal::CheckRange(begin, count, from->length());
  internal::CopySlots(internal::SlotAt<T>(to, at), internal::SlotAt<T>(from, begin), count);
}

// Makes an array of `length` references to the value.  Throws as make().
template <typename T>
Local<Array<T>> make_array(size_t length, Handle<T> value) {
  const Local<Array<T>> array = make_array<T>(length);
  fill_array<T>(array, value);
  return array;
}

// Makes an array of the elements [begin, end).  Throws as make().
template <typename T>
Local<Array<T>> slice_array(Handle<Array<T>> array, size_t begin, size_t end) {
  internal::CheckRange(begin, end - begin, array->length());
  const Local<Array<T>> slice = make_array<T>(end - begin);
  copy_array<T>(slice, 0, array, begin, end - begin);
  return slice;
}

// A managed object: an array that grows by doubling.
template <typename T>
class GrowableArray {
 public:
  size_t size() const { return size_; }

  // Aborts if `i` is out of range.  The Field is valid until the next push(), reserve() or
  // resize().
  Field<T>& at(size_t i) {
    ALLOMON_GC_CHECK(i < size_, "rule.bounds: array index out of range");
    return elements_->at(i);
  }
  // A safepoint when the array grows.  Throws as make(); then nothing was pushed.
  void push(Handle<T> value) {
    // Other code that runs when the array grows may push, too.
    while (__builtin_expect(size_ == capacity(), 0)) reserve(size_ + 1);
    elements_->at(size_++) = value;
  }
  // Aborts if the array is empty.
  Local<T> pop() {
    const Local<T> last = at(size_ - 1);
    elements_->at(--size_) = nullptr;
    return last;
  }
  // Makes room for `wanted` elements.  A safepoint, unless there is room.
  void reserve(size_t wanted) {
    // Other code may run when the elements are made, and use this array.
    while (capacity() < wanted) {
      const Local<Array<T>> larger =
          make_array<T>(std::max<size_t>({kLeastCapacity, wanted, capacity() * 2}));
      if (larger->length() < size_) continue;
      if (size_ != 0) copy_array<T>(larger, 0, elements_, 0, size_);
      elements_ = larger;
    }
  }
  // Adds nulls, or drops the last elements.
  void resize(size_t size) {
    reserve(size);
    if (size < size_) fill_array<T>(elements_, size, size_, nullptr);
    size_ = size;
  }
  Local<Array<T>> to_array() const {
    return size_ == 0 ? make_array<T>(0) : slice_array<T>(elements_, 0, size_);
  }

 private:
  static constexpr size_t kLeastCapacity = 8;
  size_t capacity() const { return elements_ ? elements_->length() : 0; }

  uint64_t size_;
  Field<Array<T>> elements_;  // those behind size_ are null
};

// A managed object: bytes that grow by doubling.
class StringBuilder {
 public:
  size_t size() const { return size_; }
  // Valid until the next append() or push().
  std::string_view view() const {
    return bytes_ ? bytes_->view().substr(0, size_) : std::string_view();
  }
  // The text may lie in a managed object, also in this one.  A safepoint when the memory grows.
  // Throws as make(); then nothing was appended.
  void append(std::string_view text) {
    if (text.empty()) return;
    // Other code that runs when the memory grows may append, too.
    while (capacity() - size_ < text.size()) reserve(size_ + text.size());
    memcpy(bytes_->data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void push(char c) { append({&c, 1}); }
  void clear() { size_ = 0; }
  // Makes room for `wanted` bytes.
  void reserve(size_t wanted) {
    while (capacity() < wanted) {
      const Local<Bytes> larger =
          make_bytes_for_overwrite(std::max<size_t>({kLeastCapacity, wanted, capacity() * 2}));
      if (larger->length() < size_) continue;
      if (size_ != 0) memcpy(larger->data(), bytes_->data(), size_);
      bytes_ = larger;
    }
  }
  Local<Bytes> to_bytes() const { return make_bytes(view()); }

 private:
  static constexpr size_t kLeastCapacity = 32;
  size_t capacity() const { return bytes_ ? bytes_->length() : 0; }

  uint64_t size_;
  Field<Bytes> bytes_;
};

namespace internal {

template <typename T>
struct TypeInfoOf<GrowableArray<T>> {
  alignas(8) static constexpr TypeInfo kInfo = {
      NameOf<GrowableArray<T>>(), 0b10, nullptr, 0, 2, Kind::kFixed};
};
template <>
struct TypeInfoOf<StringBuilder> {
  alignas(8) static constexpr TypeInfo kInfo = {"StringBuilder", 0b10, nullptr, 0, 2, Kind::kFixed};
};

// Makes an object of `words` zeros.
inline Object* MakeZeros(uintptr_t header, uint64_t words) {
  return MakeSized(header, 0, words - 1);
}

}  // namespace internal

template <typename T>
Local<GrowableArray<T>> make_growable() {
  return internal::LocalOf<GrowableArray<T>>(
      internal::MakeZeros(internal::HeaderFor<GrowableArray<T>>(), 2));
}
inline Local<StringBuilder> make_string_builder() {
  return internal::LocalOf<StringBuilder>(
      internal::MakeZeros(internal::HeaderFor<StringBuilder>(), 2));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_BULK_H_
