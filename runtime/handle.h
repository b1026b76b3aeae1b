// References to managed objects, from the stack and from other objects.
//
//   Local<T>    a reference on the stack: a variable, a parameter, a result
//   Handle<T>   the same, as the parameter type of functions
//   Field<T>    a reference inside a managed object; carries the write barrier
//   Root<T>     a reference in any other memory: a member, a closure, a map
//   Global<T>   a root that belongs to no thread
//
// All of them are null by default, compare by identity, and reach the object with ->.
//
// A Local is one word.  The collector finds it on the native stack or in a register, and its object
// does not move while the Local is there.  So a C++ reference or raw pointer to a member, obtained
// through a Local, stays valid across an allocation.  Elsewhere in memory a Local is not seen, and
// its object may move or die; new Local<T> does not compile, locals.h makes a std::vector<Local<T>>
// safe, and stress mode finds the other mistakes.  The rules on one page: runtime/README.md,
// "Rooting".
//
// Thread rule: a Local is used only on the thread that owns its stack.  A Root belongs to the
// thread that made it.  A Field is like an ordinary variable: two threads need a lock to share it.
#ifndef ALLOMON_RUNTIME_HANDLE_H_
#define ALLOMON_RUNTIME_HANDLE_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "runtime/internal/collect/barrier.h"
#include "runtime/internal/collect/root_list.h"
#include "runtime/reference_ops.h"
#include "runtime/type.h"

namespace allomon::gc {

template <typename T>
class Field;

namespace internal {
struct Access;
}

// Cost: that of a pointer.
template <typename T>
class Local : public internal::OpsOf<Local<T>, T> {
 public:
  ALLOMON_GC_INLINE constexpr Local() = default;
  ALLOMON_GC_INLINE constexpr Local(std::nullptr_t) {}  // NOLINT: null converts
  ALLOMON_GC_INLINE Local(const Field<T>& field) : object_(field.object_) {}  // NOLINT
  // Converts from a more special type (value.h), from a Root or from a place of a ValueStack.
  template <typename From, typename = internal::IfConverts<From, T>>
  ALLOMON_GC_INLINE Local(const From& from)  // NOLINT: as a pointer converts
      : object_(internal::RawOf(from)) {}

  // *this = make<T>(args...).
  template <typename... Args>
  ALLOMON_GC_INLINE Local& emplace(Args&&... args);

  ALLOMON_GC_INLINE T* operator->() const { return reinterpret_cast<T*>(object_); }
  std::add_lvalue_reference_t<T> operator*() const = delete;
  ALLOMON_GC_INLINE explicit operator bool() const {
    static_assert(!std::is_same_v<T, Value>, "a Value may be false or 0: is_null(), is_truthy()");
    return object_ != nullptr;
  }

  friend bool operator==(Local a, Local b) { return a.object_ == b.object_; }
  friend bool operator!=(Local a, Local b) { return a.object_ != b.object_; }

  // The collector does not see Locals there: take a Root.
  static void* operator new(size_t) = delete;
  static void* operator new[](size_t) = delete;
  static void* operator new(size_t, void* place) noexcept { return place; }

 private:
  friend struct internal::Access;
  friend class Field<T>;
  ALLOMON_GC_INLINE explicit Local(internal::Object* object) : object_(object) {}

  internal::Object* object_ = nullptr;
};

// The parameter type of functions.
template <typename T>
using Handle = Local<T>;

// A reference that lies in the program's own memory.  The collector finds it precisely: the object
// may move, and lives exactly as long as it is referred to.  A copy is another root.
//
// A Root belongs to the thread that makes it, and must die before the thread detaches; both are
// checked in every build.  Cost: four words, in a list; collections visit each.
template <typename T>
class Root : public internal::OpsOf<Root<T>, T> {
 public:
  Root() : node_(nullptr) {}
  Root(const Root& other) : node_(other.node_.object) {}
  template <typename From,
            typename = std::enable_if_t<std::is_convertible_v<const From&, Local<T>>>>
  Root(const From& from) : node_(internal::RawOf(Local<T>(from))) {}  // NOLINT
  Root(std::nullptr_t) : node_(nullptr) {}                            // NOLINT

  Root& operator=(const Root& other) { return Set(other.node_.object); }
  template <typename From,
            typename = std::enable_if_t<std::is_convertible_v<const From&, Local<T>>>>
  Root& operator=(const From& from) {
    return Set(internal::RawOf(Local<T>(from)));
  }

  T* operator->() const { return reinterpret_cast<T*>(node_.object); }
  std::add_lvalue_reference_t<T> operator*() const = delete;
  explicit operator bool() const {
    static_assert(!std::is_same_v<T, Value>, "a Value may be false or 0: is_null(), is_truthy()");
    return node_.object != nullptr;
  }

  friend bool operator==(const Root& a, const Root& b) { return a.node_.object == b.node_.object; }
  friend bool operator!=(const Root& a, const Root& b) { return !(a == b); }
  friend bool operator==(const Root& a, std::nullptr_t) { return a.node_.object == nullptr; }
  friend bool operator!=(const Root& a, std::nullptr_t) { return a.node_.object != nullptr; }
  friend bool operator==(const Root& a, Local<T> b) { return a.node_.object == internal::RawOf(b); }
  friend bool operator==(Local<T> a, const Root& b) { return b == a; }
  friend bool operator!=(const Root& a, Local<T> b) { return !(a == b); }
  friend bool operator!=(Local<T> a, const Root& b) { return !(b == a); }

 private:
  friend struct internal::Access;
  Root& Set(internal::Object* object) {
    node_.object = object;
    return *this;
  }

  internal::RootNode node_;
};

// A reference inside a managed object.  An assignment costs a store and three comparisons of
// addresses; a store that makes an old object point to a young one is logged.
//
// A Field lies inside a managed object only: on the stack it would be neither traced nor moved.  So
// a struct with Fields is refused as a variable or in a `new` expression, unless each Field gets an
// initialiser; then verify mode, stress mode and debug builds find it (rule.field).  A struct with
// constructors of its own initialises each Field in them, if only by nullptr.
template <typename T>
class Field : public internal::OpsOf<Field<T>, T> {
  friend struct internal::Braces;
  Field() = default;  // make<T>() makes a managed struct: it is no variable

 public:
  Field(std::nullptr_t) noexcept {}                           // NOLINT
  Field(Local<T> value) noexcept : object_(value.object_) {}  // NOLINT: only in make()
  template <typename From, typename = internal::IfInitializes<From, T>>
  Field(const From& from) noexcept : object_(internal::RawOf(from)) {}  // NOLINT
  Field(const Field&) = delete;  // write Local<T> x = cell->field, where auto would be a Field

  Field& operator=(Local<T> value) { return Set(value.object_); }
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
  friend bool operator==(const Field& a, Local<T> b) { return a.object_ == internal::RawOf(b); }
  friend bool operator==(Local<T> a, const Field& b) { return b == a; }
  friend bool operator!=(const Field& a, Local<T> b) { return !(a == b); }
  friend bool operator!=(Local<T> a, const Field& b) { return !(b == a); }

 private:
  friend struct internal::Access;
  friend class Local<T>;

  Field& Set(internal::Object* value) {
    internal::Object* const old = object_;
    internal::NoteOverwritten(&object_, old);
    // Release: a marking thread that loads the reference sees the initialised object.  Partner: the
    // marker's acquire load.
    __atomic_store_n(&object_, value, __ATOMIC_RELEASE);
    internal::Remember(&object_, old, value);
    return *this;
  }

  internal::Object* object_ = nullptr;
};

namespace internal {

// The rest of the runtime reaches the pointers through this class.
struct Access {
  template <typename T>
  ALLOMON_GC_INLINE static Object* Raw(Local<T> local) {
    return local.object_;
  }
  template <typename T>
  ALLOMON_GC_INLINE static Object* Raw(const Field<T>& field) {
    return field.object_;
  }
  template <typename T>
  static Object* Raw(const Root<T>& root) {
    return root.node_.object;
  }
  template <typename T>
  ALLOMON_GC_INLINE static Local<T> LocalOf(Object* object) {
    return Local<T>(object);
  }
};

template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(Local<T> local) {
  return Access::Raw(local);
}
template <typename T>
ALLOMON_GC_INLINE inline Object* RawOf(const Field<T>& field) {
  return Access::Raw(field);
}
template <typename T>
inline Object* RawOf(const Root<T>& root) {
  return Access::Raw(root);
}
template <typename T>
ALLOMON_GC_INLINE inline Local<T> LocalOf(Object* object) {
  return Access::LocalOf<T>(object);
}

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HANDLE_H_
