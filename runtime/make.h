// Making managed objects.
//
//   Local<Cell> cell = gc::make<Cell>(1, tail);
//
// Cost of the fast path: five instructions to take room in the nursery, the stores of the members
// and of the header, and a root for the result.  Every make() is a safepoint.  It may collect, and
// so move every object.  It may run callbacks of trackers, finalizers and releases of custom
// blocks, whose exceptions it throws.  It throws std::bad_alloc when the heap is full.  After an
// exception no object was made, and the heap goes on.
#ifndef ALLOMON_RUNTIME_MAKE_H_
#define ALLOMON_RUNTIME_MAKE_H_

#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/array.h"
#include "runtime/handle.h"
#include "runtime/internal/allocate.h"

namespace allomon::gc {
namespace internal {

// The form of an argument while a collection may happen.  References into the heap become roots.
// All other arguments are copied, since they may lie in an object that moves.
template <typename Arg>
struct Held {
  using Type = std::decay_t<Arg>;
};
template <typename U>
struct Held<Field<U>&> {
  using Type = Local<U>;
};
template <typename U>
struct Held<const Field<U>&> {
  using Type = Local<U>;
};
template <typename U>
struct Held<Local<U>&> {
  using Type = RootedAt<U>;
};
template <typename U>
struct Held<const Local<U>&> {
  using Type = RootedAt<U>;
};
template <typename U>
struct Held<Local<U>> {
  using Type = RootedAt<U>;  // a temporary of the caller, which lives longer
};
template <typename U>
struct Held<Root<U>> {
  using Type = RootedAt<U>;
};
template <typename U>
struct Held<Root<U>&> {
  using Type = RootedAt<U>;
};
template <typename U>
struct Held<const Root<U>&> {
  using Type = RootedAt<U>;
};

// A Field as an argument initialises a member with its reference.
template <typename U>
ALLOMON_GC_INLINE inline Unrooted<U> ForMember(const Field<U>& field) noexcept {
  return {Access::Raw(field)};
}
template <typename U>
ALLOMON_GC_INLINE inline Unrooted<U> ForMember(Field<U>& field) noexcept {
  return {Access::Raw(field)};
}
template <typename Arg>
ALLOMON_GC_INLINE inline Arg&& ForMember(Arg&& arg) noexcept {
  return std::forward<Arg>(arg);
}

// The form of an argument of MakeSlow().  If Locals were passed by reference, the compiler would
// keep all uses of them in memory.
template <typename Arg>
ALLOMON_GC_INLINE inline Arg&& ForSlow(Arg&& arg) {
  return std::forward<Arg>(arg);
}
template <typename U>
ALLOMON_GC_INLINE inline RootedAt<U> ForSlow(const Local<U>& arg) {
  return {Access::RootOf(arg)};
}
template <typename U>
ALLOMON_GC_INLINE inline RootedAt<U> ForSlow(Local<U>& arg) {
  return {Access::RootOf(arg)};
}
template <typename U>
ALLOMON_GC_INLINE inline RootedAt<U> ForSlow(Local<U>&& arg) {
  return {Access::RootOf(arg)};
}
template <typename U>
ALLOMON_GC_INLINE inline RootedAt<U> ForSlow(const Root<U>& arg) {
  return {Access::RootOf(arg)};
}
template <typename U>
ALLOMON_GC_INLINE inline RootedAt<U> ForSlow(Root<U>& arg) {
  return {Access::RootOf(arg)};
}
template <typename U>
ALLOMON_GC_INLINE inline RootedAt<U> ForSlow(Root<U>&& arg) {
  return {Access::RootOf(arg)};
}

// The number of arguments that are temporary Locals, whose root slots the result can use.
template <typename Arg>
inline constexpr int kDonates = 0;
template <typename U>
inline constexpr int kDonates<Local<U>> = 1;

// g++ makes the temporary of the last argument first, clang that of the first one.  The language
// leaves the order open, and MergeRoots() works with any order, if slowly.
#ifdef __clang__
inline constexpr bool kFirstArgumentIsLowest = true;
#else
inline constexpr bool kFirstArgumentIsLowest = false;
#endif

// Puts the result into the lowest slot of the temporaries that it was made from.  When the
// temporaries are destroyed that slot is on top, as if they had never been.
template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Local<T> AdoptResult(Object* object,
                                              std::remove_reference_t<Args>&... args) {
  constexpr int count = (0 + ... + kDonates<Args>);
  if constexpr (count == 0) {
    return Access::Adopt<T>(object);
  } else {
    Slot* slots[count];  // from the uppermost to the lowest
    int next = kFirstArgumentIsLowest ? count - 1 : 0;
    const auto borrow = [&](auto& arg, auto donates) __attribute__((always_inline)) {
      if constexpr (donates() != 0) {
        slots[next] = Access::RootOf(arg);
        next += kFirstArgumentIsLowest ? -1 : 1;
      }
    };
    (borrow(args, std::integral_constant<int, kDonates<Args>>()), ...);
    Slot* lowest = slots[0];
    for (int i = 1; i < count; ++i) lowest = MergeRoots(lowest, slots[i]);
    if (count == 1 && __builtin_expect(lowest == &no_slot, 0)) lowest = TakeRoot(nullptr);
    *lowest = object;
    Local<T> result = Access::AdoptSlot<T>(lowest);
    // This comes last, so that the compiler sees that nothing is left to destroy.
    (Access::Disown<kDonates<Args> != 0>(args), ...);
    return result;
  }
}

// Whether T{args...} is allowed, which no narrowing is.
template <typename Void, typename T, typename... Args>
struct Initializes : std::false_type {};
template <typename T, typename... Args>
struct Initializes<std::void_t<decltype(T{ForMember(std::declval<Args>())...})>, T, Args...>
    : std::true_type {};

template <typename T>
inline constexpr size_t kObjectBytes = (kPayloadWords<T> + 1) * kWordBytes;

// The members of a first member that has Fields are arguments of make(), since it cannot be copied.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-braces"
#endif
template <typename T, typename... Args>
__attribute__((always_inline)) inline Object* Construct(char* start, Args&&... args) {
  static_assert(kReferences<T>.count <= 256, "first of all the rules of type.h");
  static_assert(noexcept(T{ForMember(std::declval<Args>())...}),
                "the members of a managed object must be initialised without throwing, and "
                "so without allocating: make their values first, then the object");
  Object* object = reinterpret_cast<Object*>(start + kWordBytes);
  new (object) T{ForMember(std::forward<Args>(args))...};
  ALLOMON_DCHECK_EQ("inv.header", reinterpret_cast<uintptr_t>(start) + kObjectBytes<T>,
                    t_window.cursor);
  HeaderOf(object) = HeaderFor<T>();
  return object;
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

// Returns the object itself, which the caller roots before any other call.  A Local would be
// returned in memory, and the fast path would have to keep its own Local there.
template <typename T, typename... Args>
__attribute__((noinline)) Object* MakeSlow(typename Held<Args>::Type... args) {
  char* start = AllocateYoungSlow(kObjectBytes<T>, HeaderFor<T>(), ALLOMON_CALLER_FRAME());
  return Construct<T>(start, args...);
}

// Returns the object, which the caller roots before any other call.
template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Object* MakeUnrooted(Args&&... args) {
  static_assert(Initializes<void, T, Args...>::value,
                "make<T>(args...) is T{args...}: too many arguments, one of another type, or one "
                "that would be narrowed (an int for a size_t, a double for a long): convert it");
  static_assert(!EndsWithTrailing<T>(), "the object has a length: make_trailing<T>(length, ...)");
  static_assert(kObjectBytes<T> <= kMaxYoungBytes,
                "a managed struct has at most 8 KiB: use an array");
  char* start = TryAllocateYoung(kObjectBytes<T>);
  return __builtin_expect(start != nullptr, 1)
             ? Construct<T>(start, std::forward<Args>(args)...)
             : MakeSlow<T, Args...>(ForSlow(std::forward<Args>(args))...);
}

}  // namespace internal

// Makes T{args...} in the heap.  A Field as an argument is read after the room was taken.
template <typename T, typename... Args>
ALLOMON_GC_INLINE inline Local<T> make(Args&&... args) {
  internal::Object* object = internal::MakeUnrooted<T, Args...>(std::forward<Args>(args)...);
  return internal::AdoptResult<T, Args...>(object, args...);
}

template <typename T>
template <typename... Args>
ALLOMON_GC_INLINE inline Local<T>& Local<T>::emplace(Args&&... args) {
  return Set(internal::MakeUnrooted<T, Args...>(std::forward<Args>(args)...));
}

// Makes an array of `length` null references.
template <typename T>
inline Local<Array<T>> make_array(size_t length) {
  return internal::Access::Adopt<Array<T>>(
      internal::MakeSized(internal::HeaderFor<Array<T>>(), length, length));
}

// Makes `length` zero bytes.
inline Local<Bytes> make_bytes(size_t length) {
  return internal::Access::Adopt<Bytes>(
      internal::MakeSized(internal::HeaderFor<Bytes>(), length, internal::BytesToWords(length)));
}

// Makes a copy of `text`, which must not lie in a managed object: the object may move first.
inline Local<Bytes> make_bytes(std::string_view text) {
  Local<Bytes> bytes = make_bytes(text.size());
  if (!text.empty()) memcpy(bytes->data(), text.data(), text.size());
  return bytes;
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_MAKE_H_
