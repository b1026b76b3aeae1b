// The files of this process's code.  At the start of the process it notes the path of the program,
// and the files of its modules without a build id.  Later the process may have changed its root
// (chroot), its mounts or its user, and may be unable to reach its own files.
//
// Noted before constructors run, and never changed.  Cost at that time: readlink(2), and a walk
// through the loader's list; with modules without a build id, FindMappedFiles().
//
// Thread safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_CODE_FILES_H_
#define ALLOMON_TRACKER_CALLSTACK_CODE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracker/callstack/mapped_files.h"
#include "tracker/callstack/unloaded_code.h"

namespace allomon::internal {

// Returns the path of the program: of the file for which the loader's list has no name.  It is not
// /proc/self/exe if the loader was started with the program as its argument. "" if it is not known.
const char* ProgramPath();

// Returns the noted facts about the module with code at `address`; false if it was not noted.  No
// system call; also inside malloc.
bool FindNotedFile(uintptr_t address, MappedFile* file);

// Sets `file` of modules without a build id, where it is unknown, to the noted file or one found
// now.  Allocates.
void IdentifyModules(std::vector<LoadedModule>* modules);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CODE_FILES_H_
