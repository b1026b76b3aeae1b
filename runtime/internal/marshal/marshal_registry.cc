#include "runtime/internal/marshal/marshal_registry.h"

#include <utility>

#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

void MarshalRegistry::Add(std::string name, const MarshalLayout& layout) {
  ALLOMON_GC_CHECK(Find(name) == nullptr, "rule.marshal: a name is registered twice");
  ALLOMON_GC_CHECK(Find(layout.type) == nullptr, "rule.marshal: a type is registered twice");
  types_.push_back(std::make_unique<Type>(Type{std::move(name), layout, types_.size()}));
  by_type_[layout.type] = types_.back().get();
}

const MarshalRegistry::Type* MarshalRegistry::Find(const TypeInfo* type) const {
  const auto found = by_type_.find(type);
  return found == by_type_.end() ? nullptr : found->second;
}

// Called once for each type in a graph.
const MarshalRegistry::Type* MarshalRegistry::Find(std::string_view name) const {
  for (const auto& type : types_) {
    if (type->name == name) return type.get();
  }
  return nullptr;
}

}  // namespace allomon::gc::internal
