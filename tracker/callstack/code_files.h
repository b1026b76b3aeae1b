// Which files the code of this process is from.  The path of the program, and the files of what it
// was started with and has no build id, are noted at its start: later the process may have changed
// its root (chroot), its mounts or its user, and may not reach its own files any more.
//
// Noted before constructors run, and never changed.  Cost then: readlink(2), and a walk through the
// loader's list; with modules without a build id, FindMappedFiles().
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

// The path of the program: of the file that the loader's list has no name for, which is not
// /proc/self/exe where the loader was started with the program as its argument.  "" if nobody says.
const char* ProgramPath();

// What was noted of the module with code at `address`; false if nothing was.  No system call; also
// inside malloc.
bool FindNotedFile(uintptr_t address, MappedFile* file);

// Sets `file` of those modules that have no build id, noted or found now.  Allocates.
void IdentifyModules(std::vector<LoadedModule>* modules);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CODE_FILES_H_
