// Loaded code, and addresses for code that was unloaded: README.md of tracker/symbols, "Unloaded
// code".
//
// An address of unloaded code may later belong to another module.  So interned stacks have it
// replaced by an address that no code ever has: the number of the module, and the address in the
// module's file.  ProcessSymbols resolves these like any other.
//
// Nothing here may be called inside malloc or in a signal handler.  Thread safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_UNLOADED_CODE_H_
#define ALLOMON_TRACKER_CALLSTACK_UNLOADED_CODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tracker/callstack/mapped_files.h"

namespace allomon::internal {

// In lower-case hexadecimal.
std::string ToHex(const uint8_t* bytes, size_t count);

struct CodeRange {
  uintptr_t begin;
  uintptr_t end;

  // A return address may be the first byte after a function that never returns.
  bool ContainsFrame(uintptr_t frame) const { return frame - begin <= end - begin; }
  bool Overlaps(const CodeRange& other) const { return begin < other.end && other.begin < end; }
};

struct LoadedModule {
  std::string path;
  std::string build_id;  // lower-case hexadecimal; empty if there is none
  uintptr_t bias;        // the loader added this to the file's addresses
  std::vector<CodeRange> code;
  MappedFile file;  // for a module without a build id: its file, after IdentifyModules()

  bool operator==(const LoadedModule& other) const {
    return bias == other.bias && path == other.path && build_id == other.build_id;
  }
};

// Returns the modules in the loader's order: the executable first, with an empty path.  *unloads is
// the number of modules that were unloaded so far.  Calls dl_iterate_phdr, which takes the loader's
// lock.  Allocates.
std::vector<LoadedModule> LoadedModules(uint64_t* unloads = nullptr);

// Returns the modules of the namespace that a handle of dlopen() belongs to, where that is one of
// dlmopen(), which LoadedModules() leaves out.  The code of each is its whole extent.  Takes the
// loader's lock; allocates.
std::vector<LoadedModule> ModulesOfOtherNamespace(void* handle);

// Whether one of these is still loaded.  Takes no lock.
bool IsStillLoaded(const LoadedModule& module);

// A module that was unloaded, identified by its file.
struct UnloadedModule {
  std::string path;
  std::string build_id;
  MappedFile file;  // stands in for a build id
};

// Adds a module, unless it is known already, and returns the number that replaces `bias` in its
// addresses.  There is room for 4095 modules; any beyond have no names.  Allocates; nothing is ever
// freed.
uintptr_t UnloadedBias(const LoadedModule& module);

// The same for addresses of an unknown module.
uintptr_t NamelessBias();

// Whether an address has been replaced.
inline bool IsUnloadedCode(uintptr_t address) { return (address >> 62 & 1) != 0; }

// The module of a replaced address, and the address in the module's file; nullptr if it has no
// name.
const UnloadedModule* FindUnloadedModule(uintptr_t address, uint64_t* file_address);

// Whether a file is the one that was unloaded.
bool IsFileOf(const UnloadedModule& module, const std::string& build_id, const FileIdentity& file);

// ---- The files of this process's code.  At the start of the process it notes the path of the
// program, and the files of its modules without a build id.  Later the process may have changed its
// root (chroot), its mounts or its user, and may be unable to reach its own files.
//
// Noted before constructors run, and never changed.  Cost at that time: readlink(2), and a walk
// through the loader's list; with modules without a build id, FindMappedFiles().
//
// Thread safe.

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

#endif  // ALLOMON_TRACKER_CALLSTACK_UNLOADED_CODE_H_
