// Tells which process owns a recording's file.
#ifndef ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_
#define ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_

#include <cstdint>

#include "tracker/recording/file_path.h"

namespace allomon::recording {

// Marks the file of this descriptor as one that is being written, for as long as its description is
// open.  A system call.
void HoldFile(int fd);

// Whether another process still writes the regular file of that name.  The mark is checked before
// process ids, because a process in another pid namespace may have our own id.  The ids cover a
// host that has closed all descriptors and so has lost its mark.  Makes up to eight system calls;
// none is a cancellation point.
bool IsOfAnother(const FilePath& path, uint32_t process_id);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_
