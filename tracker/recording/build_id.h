// The build id of a module that is loaded, read from its own pages.
#ifndef ALLOMON_TRACKER_RECORDING_BUILD_ID_H_
#define ALLOMON_TRACKER_RECORDING_BUILD_ID_H_

#include <cstddef>
#include <cstdint>

namespace allomon::recording {

// Writes at most `room` bytes to `build_id` and returns their number; 0 if there is none or it is
// longer.  [begin, end) is the module's mapping, `bias` what the loader added to the file's
// addresses.  Any thread, inside malloc; the module must not be unloaded meanwhile.
size_t ReadBuildId(uintptr_t begin, uintptr_t end, uintptr_t bias, uint8_t* build_id, size_t room);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_BUILD_ID_H_
