// Numbers the names of managed types, so that they fit into an entry.
#ifndef ALLOMON_TRACKER_CORE_TYPE_NAMES_H_
#define ALLOMON_TRACKER_CORE_TYPE_NAMES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

using TypeNameId = uint16_t;  // 0 is "none"

// A hash table of addresses, which never removes one.  Thread safe, lock free, async-signal-safe.
class TypeNames {
 public:
  // Returns the same id for the same address.  Returns 0 for nullptr, and for new names if the
  // table is full.
  TypeNameId IdOf(const char* name) { return name == nullptr ? 0 : IdOfName(name); }
  // nullptr for 0.
  const char* At(TypeNameId id) const {
    return id == 0 ? nullptr : names_[id - 1].load(std::memory_order_relaxed);
  }

  static constexpr size_t kCapacity = 4096;

 private:
  TypeNameId IdOfName(const char* name);

  std::atomic<const char*> names_[kCapacity] = {};
};

extern TypeNames type_names;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_TYPE_NAMES_H_
