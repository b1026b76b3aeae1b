// Code that is loaded, and names for code that is no longer: README.md, "Unloaded code".
//
// An address of unloaded code may be another module's tomorrow.  So interned stacks have it
// replaced by one that no code ever has: the number of the module, and the address in its
// file.  ProcessSymbols answers for those as for any other.
//
// Nothing here may be called inside malloc or in a signal handler.  Thread safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_UNLOADED_CODE_H_
#define ALLOMON_TRACKER_CALLSTACK_UNLOADED_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::internal {

struct CodeRange {
  uintptr_t begin;
  uintptr_t end;

  // A return address may be the first byte behind a function that never returns.
  bool ContainsFrame(uintptr_t frame) const { return frame - begin <= end - begin; }
  bool Overlaps(const CodeRange& other) const { return begin < other.end && other.begin < end; }
};

struct LoadedModule {
  std::string path;
  std::string build_id;  // lower-case hexadecimal; empty if it has none
  uintptr_t bias;        // what was added to the file's addresses
  std::vector<CodeRange> code;

  bool operator==(const LoadedModule& other) const {
    return bias == other.bias && path == other.path && build_id == other.build_id;
  }
};

// By dl_iterate_phdr, so it takes the loader's lock.  Allocates.
std::vector<LoadedModule> LoadedModules();

// A module that was unloaded, as it is told by its file.
struct UnloadedModule {
  std::string path;
  std::string build_id;
  // Of the file when the module was unloaded: what stands in for a build id.
  uint64_t device;
  uint64_t inode;
  int64_t modified_ns;
};

// Adds a module, unless it is known, and returns what replaces `bias` in its addresses.  Room
// for 4095; the modules beyond have no names.  Allocates; never freed.
uintptr_t UnloadedBias(const LoadedModule& module);

// For addresses of which it is not known whose they were.
uintptr_t NamelessBias();

// Whether an address has been replaced.
inline bool IsUnloadedCode(uintptr_t address) { return (address >> 62 & 1) != 0; }

// The module of a replaced address, and the address in its file; nullptr if it has no name.
const UnloadedModule* FindUnloadedModule(uintptr_t address, uint64_t* file_address);

// Whether the file at `module.path` is still the one that was unloaded.
bool IsStillThere(const UnloadedModule& module, const std::string& build_id_of_file);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_UNLOADED_CODE_H_
