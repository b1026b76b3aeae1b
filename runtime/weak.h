// References that do not keep their object alive.  Ephemerons and weak references are managed
// objects themselves, made young, kept in Locals and Fields like any other.
#ifndef ALLOMON_RUNTIME_WEAK_H_
#define ALLOMON_RUNTIME_WEAK_H_

#include "runtime/handle.h"
#include "runtime/internal/collect/allocate.h"

namespace allomon::gc {

// A key that is held weakly, and a value that lives as long as both the key and the ephemeron live.
// With a null key the value is null, too, whatever it is set to.
// When a collection finds the key unreachable except through ephemerons, both become null, before
// finalizers of the key run.  A young key may be found dead by a minor collection, an old key by a
// major one.
template <typename K, typename V>
class Ephemeron {
 private:
  internal::Object* key_;
  internal::Object* value_;
  internal::Object* collector_;
};

// An ephemeron without a value.
template <typename T>
using WeakRef = Ephemeron<T, void>;

namespace internal {

template <typename K, typename V>
struct TypeInfoOf<Ephemeron<K, V>> {
  alignas(8) static constexpr TypeInfo kInfo = {NameOf<Ephemeron<K, V>>(), 0, nullptr, 0, 3,
                                                Kind::kEphemeron};
};

Object* MakeEphemeron(uintptr_t header, Object* key, Object* value);
void SetEphemeron(Object* ephemeron, Object* key, Object* value);
Object* EphemeronKey(Object* ephemeron);
Object* EphemeronValue(Object* ephemeron);

}  // namespace internal

// May throw std::bad_alloc, as any allocation.
template <typename K, typename V>
Local<Ephemeron<K, V>> make_ephemeron(Handle<K> key, Handle<V> value) {
  using E = Ephemeron<K, V>;
  return internal::LocalOf<E>(internal::NoTailCall(internal::MakeEphemeron(
      internal::HeaderFor<E>(), internal::Access::Raw(key), internal::Access::Raw(value))));
}

template <typename T>
Local<WeakRef<T>> make_weak(Handle<T> target) {
  return internal::LocalOf<WeakRef<T>>(internal::NoTailCall(internal::MakeEphemeron(
      internal::HeaderFor<WeakRef<T>>(), internal::Access::Raw(target), nullptr)));
}

// The key, the value or the target; null after that object was found dead.
template <typename K, typename V>
Local<K> key_of(Handle<Ephemeron<K, V>> ephemeron) {
  return internal::LocalOf<K>(internal::EphemeronKey(internal::Access::Raw(ephemeron)));
}
template <typename K, typename V>
Local<V> value_of(Handle<Ephemeron<K, V>> ephemeron) {
  return internal::LocalOf<V>(internal::EphemeronValue(internal::Access::Raw(ephemeron)));
}
template <typename T>
Local<T> target_of(Handle<WeakRef<T>> weak) {
  return key_of<T, void>(weak);
}

template <typename K, typename V>
void set_ephemeron(Handle<Ephemeron<K, V>> ephemeron, Handle<K> key, Handle<V> value) {
  internal::SetEphemeron(internal::Access::Raw(ephemeron), internal::Access::Raw(key),
                         internal::Access::Raw(value));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_WEAK_H_
