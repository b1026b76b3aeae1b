// Finds the file of loaded code, to read its names.  The file at a path is used only if it is the
// very file that was mapped (README.md, "Whose code it is").
//
// Not for use inside malloc or in a signal handler: allocates, reads files.  Any thread.
#ifndef ALLOMON_TRACKER_SYMBOLS_MODULE_FILE_H_
#define ALLOMON_TRACKER_SYMBOLS_MODULE_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracker/callstack/unloaded_code.h"
#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/memory_map.h"

namespace allomon::internal {

struct FoundModule {
  LoadedModule module;
  bool is_program = false;
};

// Finds the module with code at `address` in the loader's list; nothing if there is none.
// Allocates nothing under the loader's lock.
std::optional<FoundModule> FindLoadedModule(uintptr_t address);

// The path of a mapping's file, without the kernel's " (deleted)".
std::string PathOf(const Mapping& mapping);

struct OpenedFile {
  std::unique_ptr<ElfFile> file;  // nullptr if it cannot be opened any more
  std::string why;                // the reason if so: "PATH is not there any more", or the like
};

// Opens the file of mapped code, however it was mapped.  No reason is given for memory that has no
// file, and for files that are no ELF files: a runtime's own code, which has no names there.
OpenedFile OpenMapping(const Mapping& mapping);

// Opens the file of a module whose own file is gone or unknown: another one of the same build is as
// good.  `mapping` is a current mapping of the module's code, or nullptr if it is not known.
OpenedFile OpenModule(const FoundModule& found, const std::string& path, const Mapping* mapping);

// Opens the file of unloaded code.
OpenedFile OpenUnloaded(const UnloadedModule& module);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_MODULE_FILE_H_
