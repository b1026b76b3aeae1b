// The types that a program has named for marshalling, and the two ways through a graph.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_REGISTRY_H_
#define ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_REGISTRY_H_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/internal/marshal/marshal_layout.h"

namespace allomon::gc::internal {

class MarshalRegistry {
 public:
  struct Type {
    std::string name;
    MarshalLayout layout;
    size_t index;  // in the order of registration
  };

  // Aborts when the name or the type is registered already.
  void Add(std::string name, const MarshalLayout& layout);
  size_t size() const { return types_.size(); }
  const Type* Find(const TypeInfo* type) const;
  const Type* Find(std::string_view name) const;

 private:
  std::vector<std::unique_ptr<Type>> types_;
  std::unordered_map<const TypeInfo*, const Type*> by_type_;
};

absl::StatusOr<std::string> WriteGraph(Object* root, const MarshalRegistry& types);
// Returns the root, which the caller roots before any other call.
absl::StatusOr<Object*> ReadGraph(std::string_view bytes, const MarshalRegistry& types,
                                  const TypeInfo* root_type);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_REGISTRY_H_
