// Which file mapped code is from: told by the kernel, not by a path, at which another file may lie
// by now (README.md of tracker/symbols, "Whose code it is").
//
// System calls, of those that the dynamic linker makes to load a module (openat, read, newfstatat,
// mmap, close), munmap, and no others.  No allocation, no lock; any thread, also inside malloc.
#ifndef ALLOMON_TRACKER_CALLSTACK_MAPPED_FILES_H_
#define ALLOMON_TRACKER_CALLSTACK_MAPPED_FILES_H_

#include <cstddef>
#include <cstdint>

#include "tracker/formats/file_identity.h"

namespace allomon::internal {

enum class FileState : uint8_t {
  kUnknown = 0,   // nobody says which file is mapped
  kAtPath = 1,    // the one at its path
  kElsewhere = 2  // not the one at its path: replaced, removed, or of another mount namespace
};

struct MappedFile {
  FileState state = FileState::kUnknown;
  FileIdentity identity;  // of state kAtPath
};

struct MappedFileQuery {
  const char* path = nullptr;
  uintptr_t address = 0;  // in the mapping
  MappedFile found;       // the answer
};

// Once, when the process begins.
void NoteProcessBegin();

// Answers all queries.  Without /proc a file is taken for the mapped one if it has not changed
// since the process began.  Cost: a stat(2) for each, and one reading of /proc/thread-self/maps.
void FindMappedFiles(MappedFileQuery* queries, size_t count);

// Of whichever mapping contains the address.  Writes the path of its file, cut at the room, with a
// zero behind it and without the kernel's " (deleted)"; false if it is in no mapping of a file, or
// nobody says so.
bool PathOfMapping(uintptr_t address, char* path, size_t room_bytes);

// Whether the mapping at `address` is of the same file as the one at `other`.  Device and inode of
// a mapping are not those of stat(2) on some file systems (btrfs, overlayfs), but two mappings
// compare.  False if nobody says so.
bool IsSameMappedFile(uintptr_t address, uintptr_t other);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_MAPPED_FILES_H_
