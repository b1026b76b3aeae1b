#include "tracker/lua/known_names.h"

#include <atomic>

namespace allomon::lua {
namespace {

constexpr size_t kFunctions = 4096;
constexpr size_t kMostSteps = 64;

// The name is complete once `is_written`.
struct Entry {
  std::atomic<uintptr_t> function;
  KnownName name;
  std::atomic<bool> is_written;
};

Entry g_entries[kFunctions];

}  // namespace

const KnownName* KeepName(uintptr_t function, const KnownName& name) {
  for (size_t i = 0; i < kMostSteps; ++i) {
    Entry& entry = g_entries[(function + i) % kFunctions];
    uintptr_t there = entry.function.load(std::memory_order_acquire);
    if (there == 0 && entry.function.compare_exchange_strong(there, function)) {
      entry.name = name;
      entry.is_written.store(true, std::memory_order_release);
      return &entry.name;
    }
    if (there != function) continue;
    return entry.is_written.load(std::memory_order_acquire) ? &entry.name : nullptr;
  }
  return nullptr;
}

}  // namespace allomon::lua
