#include "tracker/core/type_names.h"

#include "tracker/base/large_object.h"

namespace allomon::internal {

ALLOMON_LARGE_ZEROS TypeNames type_names;

TypeNameId TypeNames::IdOfName(const char* name) {
  const uint64_t hash = reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < kCapacity; ++i) {
    const size_t place = ((hash >> 32) + i) % kCapacity;
    const char* there = names_[place].load(std::memory_order_relaxed);
    if (there == nullptr) {
      names_[place].compare_exchange_strong(there, name, std::memory_order_relaxed);
    }
    // If the exchange failed, `there` is the name that another thread stored, maybe the same one.
    if (there == nullptr || there == name) return static_cast<TypeNameId>(place + 1);
  }
  return 0;
}

}  // namespace allomon::internal
