// Finds the file of mapped code from the kernel.  A path is not enough, since another file may be
// there by now (README.md of tracker/symbols, "Whose code it is").
//
// Makes only system calls that the dynamic linker makes to load a module (openat, read, newfstatat,
// mmap, close), and munmap.  No allocation, no lock; any thread, also inside malloc.
#ifndef ALLOMON_TRACKER_CALLSTACK_MAPPED_FILES_H_
#define ALLOMON_TRACKER_CALLSTACK_MAPPED_FILES_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "tracker/formats/file_identity.h"

namespace allomon::internal {

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

// Answers all queries.  Without /proc a file is assumed to be the mapped one if it has not changed
// since the process began.  Cost: a stat(2) for each, and one reading of /proc/thread-self/maps, as
// far as the last of the mappings.
void FindMappedFiles(MappedFileQuery* queries, size_t count);

// Finds the mapping that contains the address.  Writes the path of its file, cut at the room, with
// a final zero and without the kernel's " (deleted)".  Returns false if no mapping of a file
// contains it, its line in maps is longer than 1,024 bytes, or this cannot be found out.
bool PathOfMapping(uintptr_t address, char* path, size_t room_bytes);

// Whether the mapping at `address` is of the same file as the one at `other`.  Device and inode of
// a mapping differ from those of stat(2) on some file systems (btrfs, overlayfs), but those of two
// mappings can be compared.  Also false if this cannot be found out.
bool IsSameMappedFile(uintptr_t address, uintptr_t other);

// ---- The build id of a module that is loaded, read from its own pages.

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

#endif  // ALLOMON_TRACKER_CALLSTACK_MAPPED_FILES_H_
