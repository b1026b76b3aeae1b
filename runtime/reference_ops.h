// The part of Local, Field and StackSlot that depends on the type of the object: conversions to
// more general references, is(), as(), cast(), and the numbers of a Value.
#ifndef ALLOMON_RUNTIME_REFERENCE_OPS_H_
#define ALLOMON_RUNTIME_REFERENCE_OPS_H_

#include <string_view>
#include <type_traits>

#include "runtime/type.h"
#include "runtime/value.h"

// The functions are inlined in exception paths, too, and without optimisation.
#define ALLOMON_GC_INLINE __attribute__((always_inline))

namespace allomon::gc {

template <typename T>
class StackSlot;
class Bytes;
class Shape;
class Shaped;

namespace internal {

// Never the type of an object; only the target of references in marshalled layouts.
template <>
struct TypeInfoOf<Value> {
  alignas(8) static constexpr TypeInfo kInfo = {"Value", 0, nullptr, 0, 1, Kind::kFixed};
};
template <>
struct TypeInfoOf<Any> {
  alignas(8) static constexpr TypeInfo kInfo = {"Any", 0, nullptr, 0, 1, Kind::kFixed};
};

// Whether a reference to a U converts to one to a T.  U may be incomplete when T is U.
template <typename U, typename T>
constexpr bool Generalizes() {
  if constexpr (std::is_same_v<U, T> || std::is_same_v<U, Value> || std::is_void_v<U>) {
    return false;
  } else if constexpr (std::is_same_v<T, Value> || std::is_same_v<T, Any>) {
    return true;
  } else {
    return Extension<U>::template Leads<T>();
  }
}

// The type that a reference refers to.
template <typename From>
struct Referred {};
template <typename U>
struct Referred<Local<U>> {
  using Type = U;
};
template <typename U>
struct Referred<Root<U>> {
  using Type = U;
};
template <typename U>
struct Referred<Field<U>> {
  using Type = U;
};
template <typename U>
struct Referred<StackSlot<U>> {
  using Type = U;
};

template <typename From, typename T, typename = void>
struct Converts : std::bool_constant<std::is_same_v<From, Immediate> && std::is_same_v<T, Value>> {
};
template <typename From, typename T>
struct Converts<From, T, std::void_t<typename Referred<From>::Type>>
    : std::bool_constant<Generalizes<typename Referred<From>::Type, T>()> {};
// A StackSlot or a Root converts to a Local of its own type.
template <typename U>
struct Converts<StackSlot<U>, U> : std::true_type {};
template <typename U>
struct Converts<Root<U>, U> : std::true_type {};

// Allows the conversion of an Immediate, or of a reference to a less general type, to a reference
// to a T.
template <typename From, typename T>
using IfConverts = std::enable_if_t<Converts<From, T>::value>;
// Allows the construction of a Field; only make() constructs a Field from other Fields.
template <typename From, typename T>
using IfInitializes = std::enable_if_t<Converts<From, T>::value && !IsField<From>::value>;

// The word of a reference.
template <typename T>
Object* RawOf(Local<T> local);
template <typename T>
Object* RawOf(const Root<T>& root);
template <typename T>
Object* RawOf(const Field<T>& field);
template <typename T>
Object* RawOf(const StackSlot<T>& slot);
inline Object* RawOf(Immediate immediate) { return reinterpret_cast<Object*>(immediate.word()); }

template <typename T>
Local<T> LocalOf(Object* object);

// Returns "int", "null" and so on, or the type of the object.  Valid as long as the type.
const char* NameOfWord(uintptr_t word);
[[noreturn]] void FailCast(uintptr_t word, const char* wanted);

// Whether the word refers to a U.  `kMayBeNumber`: the word is that of a Value.
template <typename U, bool kMayBeNumber>
ALLOMON_GC_INLINE inline bool IsA(Object* object) {
  if constexpr (std::is_same_v<U, Any>) {
    return kMayBeNumber ? PointsToObject(object) : object != nullptr;
  } else {
    if (kMayBeNumber ? !PointsToObject(object) : object == nullptr) return false;
    const uintptr_t header = HeaderOf(object) & ~kHeaderBits;
    if constexpr (std::is_same_v<U, Shaped>) {
      return TypeOf(header).kind == Kind::kShaped;
    } else if constexpr (IsExtensible<U>()) {
      for (const TypeInfo* type = &TypeOf(header); type != nullptr; type = type->extends) {
        if (type == &TypeInfoOf<U>::kInfo) return true;
      }
      return false;
    } else {
      return header == HeaderFor<U>();
    }
  }
}

template <typename Text, typename T>
using IfText = std::enable_if_t<std::is_same_v<Text, std::string_view> && std::is_same_v<T, Bytes>>;
template <typename I, typename T>
using IfIsImmediate = std::enable_if_t<std::is_same_v<I, Immediate> && !std::is_same_v<T, Value>>;

template <typename Self, typename T>
class ReferenceOps {
 public:
  // Whether this refers to a U.  False for null and for numbers.
  template <typename U>
  ALLOMON_GC_INLINE bool is() const {
    static_assert(!std::is_same_v<U, Value>, "every reference is a Value");
    return IsA<U, std::is_same_v<T, Value>>(raw());
  }
  // Returns a reference to a U, or null if the object is no U.
  template <typename U>
  ALLOMON_GC_INLINE Local<U> as() const {
    return LocalOf<U>(is<U>() ? raw() : nullptr);
  }
  // Aborts with rule.cast unless is<U>().
  template <typename U>
  ALLOMON_GC_INLINE Local<U> cast() const {
    if (__builtin_expect(!is<U>(), 0)) FailCast(WordOf(raw()), TypeInfoOf<U>::kInfo.name);
    return LocalOf<U>(raw());
  }
  // Like cast(), but returns the address.  Valid as long as a reference to the object is on the
  // stack.
  template <typename U>
  ALLOMON_GC_INLINE U* peek() const {
    if (__builtin_expect(!is<U>(), 0)) FailCast(WordOf(raw()), TypeInfoOf<U>::kInfo.name);
    return reinterpret_cast<U*>(raw());
  }
  // Whether this refers to an object of that shape: shape.h.
  ALLOMON_GC_INLINE bool is_shaped(const Shape& shape) const {
    Object* const object = raw();
    return PointsToObject(object) &&
           (HeaderOf(object) & ~kHeaderBits) == reinterpret_cast<uintptr_t>(&shape);
  }
  // The bytes, or nothing if this is null.  Valid as long as the text's address, or a reference to
  // the Bytes, is on the stack.
  template <typename Text, IfText<Text, T>* = nullptr>
  operator Text() const {  // NOLINT: text as text
    return raw() == nullptr ? Text() : reinterpret_cast<T*>(raw())->view();
  }
  // Never called: where a reference and a number meet in `b ? cell : Value::Null()`, the compiler
  // would try this conversion.
  template <typename I, IfIsImmediate<I, T>* = nullptr>
  operator I() const {  // NOLINT: as above
    static_assert(std::is_void_v<I>,
                  "a reference to an object is no Immediate: write Local<Value>(object), as in "
                  "b ? Local<Value>(object) : Value::Null()");
    return I(0);
  }
  // Returns "null", "int", "double", "bool", "constant" or the name of the object's type, for
  // messages.
  const char* type_name() const { return NameOfWord(WordOf(raw())); }

 protected:
  ALLOMON_GC_INLINE Object* raw() const { return RawOf(static_cast<const Self&>(*this)); }
};

// Members that only a Value has.
template <typename Self>
class ValueOps : public ReferenceOps<Self, Value> {
 public:
  ALLOMON_GC_INLINE bool is_null() const { return word() == 0; }
  ALLOMON_GC_INLINE bool is_reference() const { return IsReferenceWord(word()); }
  ALLOMON_GC_INLINE bool is_int() const { return IsIntWord(word()); }
  ALLOMON_GC_INLINE bool is_double() const { return IsDoubleWord(word()); }
  ALLOMON_GC_INLINE bool is_number() const { return word() >= kFirstDouble; }
  ALLOMON_GC_INLINE bool is_bool() const { return word() == kTrueWord || word() == kFalseWord; }
  // Neither null nor false.
  ALLOMON_GC_INLINE bool is_truthy() const { return (word() & ~kFalseWord) != 0; }

  // Abort with rule.cast unless the Value is of that kind.
  ALLOMON_GC_INLINE int64_t to_int() const {
    if (__builtin_expect(!is_int(), 0)) FailCast(word(), "int");
    return IntOfWord(word());
  }
  ALLOMON_GC_INLINE double to_double() const {
    if (__builtin_expect(!is_double(), 0)) FailCast(word(), "double");
    return DoubleOfWord(word());
  }
  ALLOMON_GC_INLINE bool to_bool() const {
    if (__builtin_expect(!is_bool(), 0)) FailCast(word(), "bool");
    return word() == kTrueWord;
  }
  // Return `other` unless the Value is of that kind.
  ALLOMON_GC_INLINE int64_t as_int_or(int64_t other) const {
    return is_int() ? IntOfWord(word()) : other;
  }
  ALLOMON_GC_INLINE double as_double_or(double other) const {
    return is_double() ? DoubleOfWord(word()) : other;
  }
  // Returns the double, or the integer as a double.
  ALLOMON_GC_INLINE double to_number() const {
    return is_int() ? static_cast<double>(IntOfWord(word())) : to_double();
  }

  // The number of a Constant.
  ALLOMON_GC_INLINE bool is_constant() const {
    return word() - kFirstConstantWord < kFirstAddress - kFirstConstantWord;
  }
  unsigned to_constant() const {
    if (__builtin_expect(!is_constant(), 0)) FailCast(word(), "constant");
    return static_cast<unsigned>((word() - kFirstConstantWord) / 8);
  }

  // Returns the word itself, for tables.  The word of a reference becomes stale when no stack holds
  // it any more.
  ALLOMON_GC_INLINE uintptr_t word() const { return WordOf(this->raw()); }

  // Compares with Immediates and typed references; references of one type have their own operators.
  template <typename From, typename = IfConverts<From, Value>>
  friend bool operator==(const Self& a, const From& b) {
    return RawOf(a) == RawOf(b);
  }
  template <typename From, typename = IfConverts<From, Value>>
  friend bool operator!=(const Self& a, const From& b) {
    return RawOf(a) != RawOf(b);
  }
};

// The base class of a reference to a T.
template <typename Self, typename T>
using OpsOf = std::conditional_t<std::is_same_v<T, Value>, ValueOps<Self>, ReferenceOps<Self, T>>;

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_REFERENCE_OPS_H_
