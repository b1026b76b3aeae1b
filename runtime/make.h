// Making managed objects.
//
//   Local<Cell> cell = gc::make<Cell>(1, tail);
//
// Cost of the fast path: five instructions to allocate in the nursery, plus the stores of the
// members and of the header.  Every make() is a safepoint.  It may collect, and so move each object
// that no word on a stack refers to.  It may run callbacks of trackers, finalizers and releases of
// custom blocks; it throws their exceptions.  It throws std::bad_alloc when the heap is full.  If
// it throws, no object was made, and the heap remains usable.
#ifndef ALLOMON_RUNTIME_MAKE_H_
#define ALLOMON_RUNTIME_MAKE_H_

#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/array.h"
#include "runtime/handle.h"
#include "runtime/internal/collect/allocate.h"
#include "runtime/reference_ops.h"
#include "runtime/site.h"

namespace allomon::gc {
namespace internal {

// A Field as an argument initialises a member with its reference.
template <typename U>
ALLOMON_GC_INLINE inline Local<U> ForMember(const Field<U>& field) noexcept {
  return field;
}
template <typename U>
ALLOMON_GC_INLINE inline Local<U> ForMember(Field<U>& field) noexcept {
  return field;
}
template <typename Arg>
ALLOMON_GC_INLINE inline Arg&& ForMember(Arg&& arg) noexcept {
  return std::forward<Arg>(arg);
}

// The type by which MakeSlow() takes an argument: by value.  If Locals were passed by reference,
// the compiler would keep all uses of them in memory.  The copy of a Field or a Root is a Local, so
// the stack refers to the object.
template <typename Arg>
struct SlowArgument {
  using Type = std::decay_t<Arg>;
};
template <typename U>
struct SlowArgument<Field<U>> {
  using Type = Local<U>;
};
template <typename U>
struct SlowArgument<Root<U>> {
  using Type = Local<U>;
};
template <typename Arg>
using SlowArgumentOf = typename SlowArgument<std::remove_cv_t<std::remove_reference_t<Arg>>>::Type;

// The type as which a member gets an argument.
template <typename Arg>
using ForMemberOf = decltype(ForMember(std::declval<Arg>()));

template <typename T, typename... Args>
using Initializes = decltype(Braces::Take<T, ForMemberOf<Args>...>(0));

template <typename T>
inline constexpr size_t kObjectBytes = (kPayloadWords<T> + 1) * kWordBytes;

// If the first member has Fields, make() takes the members of that member as arguments, since the
// member itself cannot be copied.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-braces"
#endif
template <typename T, typename... Args>
__attribute__((always_inline)) inline Object* ConstructAt(char* start, Args&&... args) {
  static_assert(kReferences<T>.count <= 256, "first of all the rules of type.h");
  static_assert(Braces::IsNoexcept<T, ForMemberOf<Args>...>(),
                "the members of a managed object must be initialised without throwing, and "
                "so without allocating: make their values first, then the object");
  Object* object = reinterpret_cast<Object*>(start + kWordBytes);
  Braces::Construct<T>(object, ForMember(std::forward<Args>(args))...);
  HeaderOf(object) = HeaderFor<T>();
  return object;
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

// Constructs an object in the nursery.
template <typename T, typename... Args>
__attribute__((always_inline)) inline Object* Construct(char* start, Args&&... args) {
  ALLOMON_DCHECK_EQ("inv.header", reinterpret_cast<uintptr_t>(start) + kObjectBytes<T>,
                    t_window.cursor);
  return ConstructAt<T>(start, std::forward<Args>(args)...);
}

template <typename T, typename... Args>
__attribute__((noinline)) Object* MakeSlow(SlowArgumentOf<Args>... args) {
  char* start = AllocateYoungSlow(kObjectBytes<T>, HeaderFor<T>(), ALLOMON_CALLER_FRAME());
  return Construct<T>(start, args...);
}

// Applies the write barrier to the references that a constructor stored without one.
template <typename T>
__attribute__((always_inline)) inline void RememberReferences(Object* object) {
  for (uint32_t i = 0; i < kReferences<T>.count; ++i) {
    Slot* const slot = SlotsOf(object) + kReferences<T>.offsets[i];
    Remember(slot, nullptr, *slot);
  }
}

template <typename T, typename... Args>
__attribute__((noinline)) Object* MakeAtSlow(Site& site, SlowArgumentOf<Args>... args) {
  const Placed placed =
      AllocateAtSlow(site, kObjectBytes<T>, HeaderFor<T>(), ALLOMON_CALLER_FRAME());
  Object* const object = ConstructAt<T>(placed.start, args...);
  if (placed.old) RememberReferences<T>(object);
  return object;
}

template <typename T, typename... Args>
constexpr void CheckMake() {
  static_assert(Initializes<T, Args...>::value,
                "make<T>(args...) is T{args...}: too many arguments, one of another type, or one "
                "that would be narrowed (an int for a size_t, a double for a long): convert it");
  static_assert(!EndsWithTrailing<T>(), "the object has a length: make_trailing<T>(length, ...)");
  static_assert(kObjectBytes<T> <= kMaxYoungBytes,
                "a managed struct has at most 8 KiB: use an array");
}

template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Object* Make(Args&&... args) {
  CheckMake<T, Args...>();
  char* start = TryAllocateYoung(kObjectBytes<T>);
  return __builtin_expect(start != nullptr, 1)
             ? Construct<T>(start, std::forward<Args>(args)...)
             : NoTailCall(MakeSlow<T, Args...>(std::forward<Args>(args)...));
}

template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Object* MakeAt(Site& site, Args&&... args) {
  CheckMake<T, Args...>();
  if (!site.allocates_old()) {
    char* start = TryAllocateYoung(kObjectBytes<T>);
    if (__builtin_expect(start != nullptr, 1)) {
      return Construct<T>(start, std::forward<Args>(args)...);
    }
  } else {
    char* start = TryAllocateOld(kObjectBytes<T>);
    if (__builtin_expect(start != nullptr, 1)) {
      Object* const object = ConstructAt<T>(start, std::forward<Args>(args)...);
      RememberReferences<T>(object);
      return object;
    }
  }
  return NoTailCall(MakeAtSlow<T, Args...>(site, std::forward<Args>(args)...));
}

}  // namespace internal

// Makes T{args...} in the heap.
template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Local<T> make(Args&&... args) {
  return internal::LocalOf<T>(internal::Make<T, Args...>(std::forward<Args>(args)...));
}

// Makes an object at a site, whose objects may be born old.  Cost: one more load than make()
// without a site, while objects are born young.
template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Local<T> make(Site& site, Args&&... args) {
  return internal::LocalOf<T>(internal::MakeAt<T, Args...>(site, std::forward<Args>(args)...));
}

template <typename T>
template <typename... Args>
ALLOMON_GC_INLINE inline Local<T>& Local<T>::emplace(Args&&... args) {
  object_ = internal::Make<T, Args...>(std::forward<Args>(args)...);
  return *this;
}

// Makes an array of `length` null references.
template <typename T>
inline Local<Array<T>> make_array(size_t length) {
  return internal::LocalOf<Array<T>>(
      internal::MakeSized(internal::HeaderFor<Array<T>>(), length, length));
}

// Makes `length` zero bytes.
inline Local<Bytes> make_bytes(size_t length) {
  return internal::LocalOf<Bytes>(
      internal::MakeSized(internal::HeaderFor<Bytes>(), length, internal::BytesToWords(length)));
}

// Makes `length` bytes that the caller must write before it reads them: until then they are old
// contents of the memory, or zeros.
inline Local<Bytes> make_bytes_for_overwrite(size_t length) {
  return internal::LocalOf<Bytes>(internal::MakeSized<internal::LeaveWords>(
      internal::HeaderFor<Bytes>(), length, internal::BytesToWords(length)));
}

// Makes a copy of `text`, which may lie in a managed object that a Local refers to.
inline Local<Bytes> make_bytes(std::string_view text) {
  Local<Bytes> bytes = make_bytes_for_overwrite(text.size());
  if (!text.empty()) memcpy(bytes->data(), text.data(), text.size());
  return bytes;
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_MAKE_H_
