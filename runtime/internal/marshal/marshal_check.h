// Checks every byte of a marshalled graph before an object is made of it.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_CHECK_H_
#define ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_CHECK_H_

#include "runtime/internal/marshal/marshal_format.h"
#include "runtime/internal/marshal/marshal_registry.h"
#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

// The parts of accepted bytes, for the reader.
struct CheckedGraph {
  Vector<const MarshalLayout*> types;  // in the order of the type table
  uint64_t n_objects = 0;
  std::string_view heads;   // and all bytes after the heads
  std::string_view bodies;  // up to the end
};

// inv.marshal.checked: accepted bytes can be built into a graph without another check of a bound:
//   - each head names a type of the table, each body is as long as its head says;
//   - object 1 is the root, and each other object is first referred to by an object before
//     it, in ascending order, so that each object is reachable as soon as it is made;
//   - a reference refers to null or to an object of the type that its Field declares.
// Throws std::bad_alloc.  Memory: 4 bytes per object, and there are no more objects than bytes.
absl::StatusOr<CheckedGraph> CheckGraph(std::string_view bytes, const MarshalRegistry& types,
                                        const TypeInfo* root_type);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_CHECK_H_
