#include "tracker/base/own_mappings.h"

#include <algorithm>

#include "tracker/base/large_object.h"

namespace allomon::internal {

ALLOMON_LARGE_ZEROS OwnMappings own_mappings;

namespace {

// Values of `begin` for an entry without a mapping, besides 0.
constexpr uint64_t kTaken = 1;  // it is being written
constexpr uint64_t kForgotten = 2;

std::atomic<uint64_t> g_forgotten{0};  // entries that may be used again

uint64_t UsedEntries() {
  return std::min(own_mappings.count.load(std::memory_order_relaxed), OwnMappings::kRoom);
}

OwnMapping* TakeForgotten() {
  if (g_forgotten.load(std::memory_order_relaxed) == 0) return nullptr;
  for (uint64_t i = 0; i < UsedEntries(); ++i) {
    std::atomic<uint64_t>& begin = own_mappings.entries[i].begin;
    uint64_t forgotten = kForgotten;
    if (begin.load(std::memory_order_relaxed) != kForgotten ||
        !begin.compare_exchange_strong(forgotten, kTaken, std::memory_order_relaxed)) {
      continue;
    }
    g_forgotten.fetch_sub(1, std::memory_order_relaxed);
    return &own_mappings.entries[i];
  }
  return nullptr;
}

OwnMapping* TakeFresh() {
  if (own_mappings.count.load(std::memory_order_relaxed) >= OwnMappings::kRoom) return nullptr;
  const uint64_t index = own_mappings.count.fetch_add(1, std::memory_order_relaxed);
  return index < OwnMappings::kRoom ? &own_mappings.entries[index] : nullptr;
}

}  // namespace

void NoteMapping(const void* begin, size_t size_bytes, MappingUse use) {
  OwnMapping* entry = TakeForgotten();
  if (entry == nullptr) entry = TakeFresh();
  if (entry == nullptr) return;
  entry->bytes_and_use.store(uint64_t{size_bytes} << 8 | static_cast<uint64_t>(use),
                             std::memory_order_relaxed);
  // Release: a process that sees the address in this one's memory sees the size, too.
  entry->begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
}

void ForgetMapping(const void* begin) {
  for (uint64_t i = 0; i < UsedEntries(); ++i) {
    uint64_t address = reinterpret_cast<uintptr_t>(begin);
    OwnMapping& entry = own_mappings.entries[i];
    if (entry.begin.load(std::memory_order_relaxed) != address ||
        !entry.begin.compare_exchange_strong(address, kForgotten, std::memory_order_relaxed)) {
      continue;
    }
    g_forgotten.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

}  // namespace allomon::internal
