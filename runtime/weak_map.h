// A hash table that holds its keys weakly and compares them by identity.  An entry lives as long as
// both its key and the map: a value may refer to its own key.
//
//   gc::Local<gc::WeakMap<Cell, Bytes>> notes = gc::make_weak_map<Cell, Bytes>();
//   notes->set(cell, gc::make_bytes("seen twice"));
//   if (gc::Local<Bytes> note = notes->get(cell)) puts(note->data());
//
// The entries are no objects: 32 bytes each, in a table that is born old, and grows by doubling
// when three quarters of it are used.  A key has an identity_hash(), which may take 24 bytes more.
#ifndef ALLOMON_RUNTIME_WEAK_MAP_H_
#define ALLOMON_RUNTIME_WEAK_MAP_H_

#include <cstddef>

#include "runtime/array.h"
#include "runtime/handle.h"
#include "runtime/make.h"

namespace allomon::gc {

namespace internal {

// The type of the table, of which programs see nothing.
class WeakEntriesObject;
template <>
struct TypeInfoOf<WeakEntriesObject> {
  alignas(8) static constexpr TypeInfo kInfo = {"entries of a WeakMap", 0, nullptr, 0, 0,
                                                Kind::kWeakEntries};
};
using WeakTableField = Field<WeakEntriesObject>;

size_t CountWeakEntries(const WeakTableField& table);
// False if there is no such entry.  The value may be null.
bool FindInWeakMap(const WeakTableField& table, Object* key, Object** value);
void SetInWeakMap(WeakTableField& table, Object* key, Object* value);
bool EraseFromWeakMap(const WeakTableField& table, Object* key);
// Goes on behind the place, 0 at first, to the next key; nullptr behind the last one.
Object* NextInWeakMap(const WeakTableField& table, size_t* place);

}  // namespace internal

// A managed object; references to it are Local<WeakMap<K, V>>, Field<WeakMap<K, V>> and so on.  A
// key or a value may be of any type to which a Field may refer; a Value that is a number is no key.
//
// An entry goes when a collection finds its key unreachable except through ephemerons and
// WeakMaps, before finalizers of the key run.  A young key may be found dead by a minor collection,
// an old key by a major one.
//
// Two threads need a lock to share a map.
template <typename K, typename V>
class WeakMap {
 public:
  // The entries with keys that were not found dead.
  size_t size() const { return internal::CountWeakEntries(table_); }

  bool has(Handle<K> key) const {
    internal::Object* value = nullptr;
    return internal::FindInWeakMap(table_, internal::Access::Raw(key), &value);
  }
  // Null if there is no such entry.  This, has() and erase() are no safepoints.  They give a young
  // key an identity, and throw std::bad_alloc if there is no memory for it.  Cost: a lock, and one
  // or two cache misses.
  Local<V> get(Handle<K> key) const {
    internal::Object* value = nullptr;
    internal::FindInWeakMap(table_, internal::Access::Raw(key), &value);
    return internal::LocalOf<V>(value);
  }
  // Adds an entry, or replaces its value.  A safepoint when the table grows.  Aborts with rule.weak
  // if the key is null or a number.  Throws as make(); then nothing was set.
  void set(Handle<K> key, Handle<V> value) {
    internal::SetInWeakMap(table_, internal::Access::Raw(key), internal::Access::Raw(value));
  }
  // Returns whether there was such an entry.
  bool erase(Handle<K> key) {
    return internal::EraseFromWeakMap(table_, internal::Access::Raw(key));
  }
  void clear() { table_ = nullptr; }

  // Returns all keys, in any order, for loops that may change the map.  They live as long as the
  // array.
  Local<Array<K>> keys() const {
    for (;;) {
      const size_t count = size();
      const Local<Array<K>> all = make_array<K>(count);
      if (size() != count) continue;  // at this safepoint keys died, or a finalizer added some
      size_t place = 0;
      for (size_t i = 0; i < count; ++i) {
        all->at(i) = internal::LocalOf<K>(internal::NextInWeakMap(table_, &place));
      }
      return all;
    }
  }

 private:
  internal::WeakTableField table_;
};

namespace internal {

template <typename K, typename V>
struct TypeInfoOf<WeakMap<K, V>> {
  alignas(8) static constexpr TypeInfo kInfo = {
      NameOf<WeakMap<K, V>>(), 1, nullptr, 0, 1, Kind::kFixed};
};

Object* MakeWeakMap(uintptr_t header);

}  // namespace internal

// Makes an empty map.  Throws as make().
template <typename K, typename V>
Local<WeakMap<K, V>> make_weak_map() {
  return internal::LocalOf<WeakMap<K, V>>(
      internal::NoTailCall(internal::MakeWeakMap(internal::HeaderFor<WeakMap<K, V>>())));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_WEAK_MAP_H_
