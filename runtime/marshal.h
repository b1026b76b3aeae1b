// Object graphs as bytes, and back: sharing and cycles are kept.
//
//   gc::MarshalTypes types;
//   types.Add<Cell>("cell").Add<gc::Array<Cell>>("cells").Add<gc::Bytes>("bytes");
//   absl::StatusOr<std::string> bytes = gc::marshal<Cell>(list, types);
//   absl::StatusOr<gc::Local<Cell>> copy = gc::unmarshal<Cell>(*bytes, types);
//
// Types are named explicitly.  So even untrusted bytes can make only objects of the types that the
// reader has named, each reference refers to an object of its Field's type, and a struct that has
// changed since is refused.  The program itself must check the values of numbers and enums, and the
// origin of the bytes.
//
// Neither function recurses, so a list may have any length.  Format: runtime/MARSHAL.md.
#ifndef ALLOMON_RUNTIME_MARSHAL_H_
#define ALLOMON_RUNTIME_MARSHAL_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/internal/marshal/marshal_registry.h"
#include "runtime/make.h"

namespace allomon::gc {

// The types that may be written and read, by name.  Filled once; then any number of threads may use
// it.
class MarshalTypes {
 public:
  // Adds a struct, Array<T>, Numbers<N> or Bytes.  The name is written to the bytes.  Give a struct
  // another name when its meaning changes, since only a change of its members is detected.  The
  // compiler refuses members that are raw pointers, custom blocks or weak references.  Aborts when
  // the name or the type is registered already.
  template <typename T>
  MarshalTypes& Add(std::string name) {
    registry_.Add(std::move(name), internal::MarshalLayoutOf<T>::Get());
    return *this;
  }

  const internal::MarshalRegistry& registry() const { return registry_; }

 private:
  internal::MarshalRegistry registry_;
};

// Writes the graph that `root` (which may be null) reaches.  Fails with kFailedPrecondition, naming
// the type, when it reaches an object whose type is not in `types`.  Custom blocks and weak
// references cannot be in `types`.  Throws std::bad_alloc.
//
// Not a safepoint: another thread that wants to collect waits.  Threads that change the graph
// meanwhile need a lock, as for any Field.  Cost: 40 to 130 ns per object, depending on the number
// of objects.  Memory: about 13 bytes of the backend's memory per object, and for a moment two
// copies of the bytes.
template <typename T>
absl::StatusOr<std::string> marshal(Handle<T> root, const MarshalTypes& types) {
  return internal::WriteGraph(internal::Access::Raw(root), types.registry());
}

// Makes a copy of the marshalled graph.  Each object is sampled as by make(), with source kMarshal
// and a header word.  All bytes are checked before the first object is made.  The check fails with
//
//   kInvalidArgument     these are not the bytes of a marshalled graph
//   kDataLoss            they are, but cut off or damaged
//   kFailedPrecondition  written by another version; or a type is not in `types`, or has
//                        another layout here; or the root is no T
//
// and the heap is as before.  Throws as make() does; the objects already made are then garbage.
// `bytes` must not lie in a managed object, nor change during the call.  Cost: some 50 ns per
// object. Memory, heap included: at most 40 times bytes.size(), whatever the bytes are.
template <typename T>
absl::StatusOr<Local<T>> unmarshal(std::string_view bytes, const MarshalTypes& types) {
  const absl::StatusOr<internal::Object*> root =
      internal::ReadGraph(bytes, types.registry(), &internal::TypeInfoOf<T>::kInfo);
  if (!root.ok()) return root.status();
  return internal::LocalOf<T>(*root);
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_MARSHAL_H_
