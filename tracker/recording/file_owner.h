// Whose recording a file is.
#ifndef ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_
#define ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_

#include <cstdint>

#include "tracker/recording/file_path.h"

namespace allomon::recording {

// Marks the file of this descriptor as one that is being written, for as long as its description is
// open.  A system call.
void HoldFile(int fd);

// Whether another process still writes the regular file of that name.  One in another pid namespace
// may have our own number, so the mark counts before numbers do; they tell of a host that has
// closed all descriptors.  Up to eight system calls, none of which is a cancellation point.
bool IsOfAnother(const FilePath& path, uint32_t process_id);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FILE_OWNER_H_
