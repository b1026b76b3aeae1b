// A list of the mappings that Allomon has made for itself, for readers outside of the process
// (formats/process_map.h).  Nothing in the process reads it.
//
// Thread safe, lock free, async-signal-safe.  May be called inside malloc.
#ifndef ALLOMON_TRACKER_BASE_OWN_MAPPINGS_H_
#define ALLOMON_TRACKER_BASE_OWN_MAPPINGS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// The numbers are part of a format: process_map::Use.
enum class MappingUse : uint64_t { kTables = 0, kRecording = 1, kGuard = 2, kManaged = 3 };

// Copied by readers as process_map::OwnMapping.
struct OwnMapping {
  std::atomic<uint64_t> begin;
  std::atomic<uint64_t> bytes_and_use;
};

struct OwnMappings {
  // A million live stacks take 800 mappings.
  static constexpr uint64_t kRoom = 4096;

  std::atomic<uint64_t> count;  // entries that were ever used
  OwnMapping entries[kRoom];
};
extern OwnMappings own_mappings __attribute__((visibility("hidden")));

// Adds a mapping.  If the list is full, readers take the memory for the host's.  Cost: two stores,
// and a search for a free entry if there was an earlier Forget.
void NoteMapping(const void* begin, size_t size_bytes, MappingUse use);

// Called before the memory is unmapped.  Does nothing for a mapping that is not in the list.
void ForgetMapping(const void* begin);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_OWN_MAPPINGS_H_
