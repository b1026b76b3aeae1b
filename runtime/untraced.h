// A pointer to an object outside the heap, as a member of a managed object: to compiled code, to a
// table of the interpreter.
//
//   struct Closure {
//     gc::Untraced<const Function*> function;
//     gc::Field<gc::Value> scope;
//   };
//
// The collector ignores the pointer, and does not free its target when the managed object dies; use
// a CustomBlock for that.  It must not point to a managed object, which may move. Cannot be
// marshalled.
#ifndef ALLOMON_RUNTIME_UNTRACED_H_
#define ALLOMON_RUNTIME_UNTRACED_H_

#include <type_traits>

namespace allomon::gc {

template <typename Pointer>
class Untraced {
  static_assert(std::is_pointer_v<Pointer>, "Untraced<T*> holds a pointer");

 public:
  Untraced() = default;
  Untraced(Pointer pointer) noexcept : pointer_(pointer) {}  // NOLINT: as a pointer is copied
  Pointer get() const { return pointer_; }
  operator Pointer() const { return pointer_; }  // NOLINT
  Pointer operator->() const { return pointer_; }

 private:
  Pointer pointer_ = nullptr;
};

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_UNTRACED_H_
