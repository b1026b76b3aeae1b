// Objects and bytes by type.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_TYPE_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_TYPE_TABLE_H_

#include <cstdint>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

struct TypeRow {
  const TypeInfo* type;
  uint64_t objects;
  uint64_t bytes;             // including headers
  uint32_t name_string;       // index into a snapshot's strings
  uint32_t reference_string;  // index of the first reference's name
};

// Finds the row of a type by hashing.  Calls no malloc.
class TypeTable {
 public:
  // Returns the row of `type`, a new one at the first call; nullptr without memory.  Valid until
  // the next call.
  TypeRow* Find(const TypeInfo& type) {
    if (__builtin_expect(&type == last_type_, 1)) return &rows_[last_row_];
    return FindSlow(type);
  }
  Vector<TypeRow>& rows() { return rows_; }

 private:
  TypeRow* FindSlow(const TypeInfo& type);
  bool Grow();
  uint32_t& SlotOf(const TypeInfo& type);

  Vector<TypeRow> rows_;
  Vector<uint32_t> slots_;  // index of a row plus one; 0: free.  The size is a power of two
  const TypeInfo* last_type_ = nullptr;
  size_t last_row_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_TYPE_TABLE_H_
