// The build id of a module that is loaded, read from its own pages.
#ifndef ALLOMON_TRACKER_CALLSTACK_BUILD_ID_H_
#define ALLOMON_TRACKER_CALLSTACK_BUILD_ID_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Linkers make ids of 8 to 20 bytes.
inline constexpr size_t kMostBuildIdBytes = 64;

// Writes at most `room` bytes to `build_id` and returns their number; 0 if there is no id or it is
// longer. [begin, end) is the module's mapping; the loader added `bias` to the file's addresses.
// Any thread, inside malloc; the module must not be unloaded meanwhile.
size_t ReadBuildId(uintptr_t begin, uintptr_t end, uintptr_t bias, uint8_t* build_id, size_t room);

// The same for a module whose program headers are known.
size_t ReadBuildId(const ElfW(Phdr) * headers, size_t count, uintptr_t bias, uint8_t* build_id,
                   size_t room);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_BUILD_ID_H_
