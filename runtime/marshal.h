// Object graphs as bytes, and back: sharing and cycles are kept.
//
//   gc::MarshalTypes types;
//   types.Add<Cell>("cell").Add<gc::Array<Cell>>("cells").Add<gc::Bytes>("bytes");
//   absl::StatusOr<std::string> bytes = gc::marshal<Cell>(list, types);
//   absl::StatusOr<gc::Local<Cell>> copy = gc::unmarshal<Cell>(*bytes, types);
//
// Types are named explicitly, so bytes from elsewhere can make no other object than those
// the reader has named, each reference refers to what its Field says, and a struct that
// has changed since is refused.  The bytes need not be trusted for that; what numbers and
// enums mean is the program's to check, and so is the author of the bytes.
//
// Neither function recurses: a list of any length will do.  Format: runtime/MARSHAL.md.
#ifndef ALLOMON_RUNTIME_MARSHAL_H_
#define ALLOMON_RUNTIME_MARSHAL_H_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/internal/marshal_layout.h"
#include "runtime/make.h"

namespace allomon::gc {

// The types that may be written and read, by name.  Filled once, then used by any number
// of threads.
class MarshalTypes {
 public:
  // A struct, Array<T> or Bytes.  The name is what is written; give a struct another one
  // when its meaning changes, since only a change of its members is seen.  Refused by the
  // compiler: members that are raw pointers, custom blocks, weak references.  Aborts when
  // the name or the type is registered already.
  template <typename T>
  MarshalTypes& Add(std::string name) {
    AddLayout(std::move(name), internal::MarshalLayoutOf<T>::Get());
    return *this;
  }

  // For the reader and the writer.
  struct Type {
    std::string name;
    internal::MarshalLayout layout;
    size_t index;  // in the order of registration
  };
  size_t size() const { return types_.size(); }
  const Type* Find(const internal::TypeInfo* type) const;
  const Type* Find(std::string_view name) const;

 private:
  void AddLayout(std::string name, const internal::MarshalLayout& layout);

  std::vector<std::unique_ptr<Type>> types_;
  std::unordered_map<const internal::TypeInfo*, const Type*> by_type_;
};

namespace internal {

absl::StatusOr<std::string> WriteGraph(Object* root, const MarshalTypes& types);
// Returns the root, which the caller roots before any other call.
absl::StatusOr<Object*> ReadGraph(std::string_view bytes, const MarshalTypes& types,
                                  const TypeInfo* root_type);

}  // namespace internal

// The graph that `root` (which may be null) reaches.  Fails with kFailedPrecondition,
// naming the type, when it reaches an object whose type is not in `types`: custom blocks
// and weak references cannot be.  Throws std::bad_alloc.
//
// No safepoint: another thread that wants to collect waits.  Threads that change the graph
// meanwhile need a lock, as for any Field.  Cost: 40 to 130 ns per object, by
// how many there are; about 13 bytes of the backend's memory for each, and the bytes
// twice for a moment.
template <typename T>
absl::StatusOr<std::string> marshal(Handle<T> root, const MarshalTypes& types) {
  return internal::WriteGraph(internal::Access::Raw(root), types);
}

// The same graph anew.  Each object is sampled as by make(), with source kMarshal and a
// header word.  All bytes are checked before the first object is made; this fails with
//
//   kInvalidArgument     these are not the bytes of a marshalled graph
//   kDataLoss            they are, but cut off or damaged
//   kFailedPrecondition  written by another version; or a type is not in `types`, or has
//                        another layout here; or the root is no T
//
// and the heap is as before.  Throws as make() does; the objects made until then are garbage.
// `bytes` must not lie in a managed object, nor change meanwhile.  Cost: some 50 ns per object.
// Memory, heap included: at most 40 times bytes.size(), whatever the bytes say.
template <typename T>
absl::StatusOr<Local<T>> unmarshal(std::string_view bytes, const MarshalTypes& types) {
  const absl::StatusOr<internal::Object*> root =
      internal::ReadGraph(bytes, types, &internal::TypeInfoOf<T>::kInfo);
  if (!root.ok()) return root.status();
  return internal::Access::Adopt<T>(*root);
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_MARSHAL_H_
