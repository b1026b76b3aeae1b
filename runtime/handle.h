// References to managed objects, from the stack and from other objects.
//
//   Local<T>    a root on the stack, in a parameter, a result, a std::vector
//   Handle<T>   const Local<T>&: the parameter type of functions
//   Root<T>     the same as Local, bound to its scope; cannot be copied or moved
//   Field<T>    a reference inside a managed object; carries the write barrier
//   Global<T>   a root that belongs to no thread
//
// All of them are null by default, compare by identity, and reach the object with ->.  There is no
// operator* and no conversion to T*: an object moves at the next allocation, and a raw pointer to
// it would be stale.  The result of -> or at() is valid until the next allocation of the same
// thread.  Managed types hold data only, and functions on them take handles.  The rules on one
// page: runtime/README.md, "Rooting".
//
// Thread rule: a Local or Root belongs to the thread that made it.  A Field is like an ordinary
// variable: two threads need a lock to share it.
#ifndef ALLOMON_RUNTIME_HANDLE_H_
#define ALLOMON_RUNTIME_HANDLE_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "runtime/internal/reference_ops.h"
#include "runtime/internal/window.h"
#include "runtime/type.h"

namespace allomon::gc {

template <typename T>
class Field;

namespace internal {
struct Access;

// A reference that is on its way into a new object.  No safepoint lies between the load and the
// store.
template <typename T>
struct Unrooted {
  Object* object;
};

// The root slot of a Local that lives longer than this object: a Handle that fits a register.
template <typename T>
struct RootedAt {
  Slot* slot;
};
}  // namespace internal

// Cost: the constructor pushes a word to the thread's root stack, the destructor pops it.  Locals
// may be destroyed out of order: the slot then stays until the slots above it are released.
template <typename T>
class Local : public internal::OpsOf<Local<T>, T> {
 public:
  ALLOMON_GC_INLINE Local() : slot_(internal::TakeRoot(nullptr)) {}
  ALLOMON_GC_INLINE Local(std::nullptr_t) : Local() {}  // NOLINT: null converts
  ALLOMON_GC_INLINE Local(const Local& other) : slot_(internal::TakeRoot(other.raw())) {}
  ALLOMON_GC_INLINE Local(Local&& other) noexcept : slot_(other.slot_) {
    other.slot_ = &internal::no_slot;
  }
  ALLOMON_GC_INLINE Local(const Field<T>& field)
      : slot_(internal::TakeRoot(field.object_)) {}  // NOLINT
  // To a more general type: value.h.
  template <typename From, typename = internal::IfConverts<From, T>>
  ALLOMON_GC_INLINE Local(const From& from)  // NOLINT: as a pointer converts
      : slot_(internal::TakeRoot(internal::RawOf(from))) {}
  template <typename U, typename = internal::IfConverts<Local<U>, T>>
  ALLOMON_GC_INLINE Local(Local<U>&& other) noexcept  // NOLINT
      : slot_(std::exchange(other.slot_, &internal::no_slot)) {}
  ALLOMON_GC_INLINE ~Local() {
    // Where the compiler sees that this Local was moved from, there is no slot to release.
    if (__builtin_constant_p(slot_ == &internal::no_slot) && slot_ == &internal::no_slot) return;
    internal::ReleaseRoot(slot_);
  }

  ALLOMON_GC_INLINE Local& operator=(const Local& other) { return Set(other.raw()); }
  // `other` becomes null.  Its slot is released first, so that the compiler sees that the slot of a
  // temporary was pushed for nothing.
  ALLOMON_GC_INLINE Local& operator=(Local&& other) noexcept {
    internal::Object* const object = other.raw();
    internal::ReleaseRoot(std::exchange(other.slot_, &internal::no_slot));
    return Set(object);
  }
  ALLOMON_GC_INLINE Local& operator=(const Field<T>& field) { return Set(field.object_); }
  ALLOMON_GC_INLINE Local& operator=(std::nullptr_t) { return Set(nullptr); }
  template <typename From, typename = internal::IfConverts<From, T>>
  ALLOMON_GC_INLINE Local& operator=(const From& from) {
    return Set(internal::RawOf(from));
  }

  // *this = make<T>(args...), without a root for the result in between: for hot loops.
  template <typename... Args>
  ALLOMON_GC_INLINE Local& emplace(Args&&... args);

  ALLOMON_GC_INLINE T* operator->() const { return reinterpret_cast<T*>(*slot_); }
  std::add_lvalue_reference_t<T> operator*() const = delete;
  ALLOMON_GC_INLINE explicit operator bool() const {
    static_assert(!std::is_same_v<T, Value>, "a Value may be false or 0: is_null(), is_truthy()");
    return *slot_ != nullptr;
  }

  friend bool operator==(const Local& a, const Local& b) { return a.raw() == b.raw(); }
  friend bool operator!=(const Local& a, const Local& b) { return a.raw() != b.raw(); }

 private:
  friend struct internal::Access;
  friend class Field<T>;
  template <typename U>
  friend class Local;
  ALLOMON_GC_INLINE explicit Local(internal::Slot* slot) : slot_(slot) {}

  ALLOMON_GC_INLINE internal::Object* raw() const { return *slot_; }
  ALLOMON_GC_INLINE Local& Set(internal::Object* object) {
    if (__builtin_expect(slot_ == &internal::no_slot, 0)) {
      slot_ = internal::TakeRoot(object);
    } else {
      *slot_ = object;
    }
    return *this;
  }

  // `mutable` for g++ alone, which otherwise keeps a const variable in memory.
  mutable internal::Slot* slot_;
};

// The parameter type of functions: the object stays rooted by the caller, and no root is made.
template <typename T>
using Handle = const Local<T>&;

// For hot loops, and for frames that longjmp may cut (RootMark in heap.h).  Roots are strictly last
// in, first out.
template <typename T>
class Root : public Local<T> {
 public:
  using Local<T>::Local;
  using Local<T>::operator=;
  Root() = default;
  Root(Local<T>&& value) : Local<T>(std::move(value)) {}  // NOLINT: a result is rooted
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  static void* operator new(size_t) = delete;
};

// A reference inside a managed object.  An assignment costs a store and three comparisons of
// addresses; a store that makes an old object point to a young one is logged.
//
// A Field lies inside a managed object only: on the stack it would be neither traced nor moved.
template <typename T>
class Field : public internal::OpsOf<Field<T>, T> {
 public:
  Field() = default;
  Field(std::nullptr_t) noexcept {}                                       // NOLINT
  Field(const Local<T>& value) noexcept : object_(value.raw()) {}         // NOLINT: only in make()
  Field(internal::Unrooted<T> value) noexcept : object_(value.object) {}  // NOLINT
  Field(internal::RootedAt<T> value) noexcept : object_(*value.slot) {}   // NOLINT
  template <typename From, typename = internal::IfInitializes<From, T>>
  Field(const From& from) noexcept : object_(internal::RawOf(from)) {}  // NOLINT
  Field(const Field&) = delete;

  Field& operator=(const Local<T>& value) { return Set(value.raw()); }
  Field& operator=(const Field& other) { return Set(other.object_); }
  Field& operator=(std::nullptr_t) { return Set(nullptr); }
  template <typename From, typename = internal::IfConverts<From, T>>
  Field& operator=(const From& from) {
    return Set(internal::RawOf(from));
  }

  T* operator->() const { return reinterpret_cast<T*>(object_); }
  std::add_lvalue_reference_t<T> operator*() const = delete;
  explicit operator bool() const {
    static_assert(!std::is_same_v<T, Value>, "a Value may be false or 0: is_null(), is_truthy()");
    return object_ != nullptr;
  }

  friend bool operator==(const Field& a, const Field& b) { return a.object_ == b.object_; }
  friend bool operator!=(const Field& a, const Field& b) { return a.object_ != b.object_; }
  friend bool operator==(const Field& a, const Local<T>& b) {
    return a.object_ == internal::RawOf(b);
  }
  friend bool operator==(const Local<T>& a, const Field& b) { return b == a; }
  friend bool operator!=(const Field& a, const Local<T>& b) { return !(a == b); }
  friend bool operator!=(const Local<T>& a, const Field& b) { return !(b == a); }

 private:
  friend struct internal::Access;
  friend class Local<T>;

  Field& Set(internal::Object* value) {
    internal::Object* const old = object_;
    object_ = value;
    internal::Remember(&object_, old, value);
    return *this;
  }

  internal::Object* object_ = nullptr;
};

namespace internal {

// The rest of the runtime reaches the pointers through this class.
struct Access {
  template <typename T>
  ALLOMON_GC_INLINE static Object* Raw(const Local<T>& local) {
    return local.raw();
  }
  template <typename T>
  ALLOMON_GC_INLINE static Object* Raw(const Field<T>& field) {
    return field.object_;
  }
  // Valid while the Local lives.
  template <typename T>
  ALLOMON_GC_INLINE static Slot* RootOf(const Local<T>& local) {
    return local.slot_;
  }
  template <typename T>
  ALLOMON_GC_INLINE static Local<T> Adopt(Object* object) {
    return Local<T>(TakeRoot(object));
  }
  template <typename T>
  ALLOMON_GC_INLINE static Local<T> AdoptSlot(Slot* slot) {
    return Local<T>(slot);
  }
  // If `kDoes`, the slot of the Local passes to the caller.
  template <bool kDoes, typename Arg>
  ALLOMON_GC_INLINE static void Disown(Arg& local) {
    if constexpr (kDoes) local.slot_ = &no_slot;
  }
};

template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(const Local<T>& local) {
  return Access::Raw(local);
}
template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(const Field<T>& field) {
  return Access::Raw(field);
}
template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(const Unrooted<T>& unrooted) {
  return unrooted.object;
}
template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(const RootedAt<T>& rooted) {
  return *rooted.slot;
}
template <typename T>
ALLOMON_GC_INLINE inline Local<T> LocalOf(Object* object) {
  return Access::Adopt<T>(object);
}

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HANDLE_H_
