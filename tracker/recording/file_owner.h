// Whose recording a file is.
#ifndef ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_
#define ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_

#include <cstdint>

#include "tracker/recording/file_path.h"

namespace allomon::recording {

// Whether a process other than `process_id` still writes the regular file of that name.  Makes
// system calls; not inside malloc.
bool IsOfAnother(const FilePath& path, uint32_t process_id);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_
