// The file that loaded code is from, to read its names.  What lies at a path is believed only where
// it is the very file that was mapped (README.md, "Whose code it is").
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

// The module with code at `address`, as the loader has it; nothing if there is none.  Allocates
// nothing under the loader's lock.
std::optional<FoundModule> FindLoadedModule(uintptr_t address);

// The path of a mapping's file, without the kernel's " (deleted)".
std::string PathOf(const Mapping& mapping);

struct OpenedFile {
  std::unique_ptr<ElfFile> file;  // nullptr if it cannot be opened any more
  std::string why;                // then: "PATH is not there any more", or the like
};

// Of mapped code, whoever has mapped it.
OpenedFile OpenMapping(const Mapping& mapping);

// Of a module whose own file has gone, or cannot be told: another one of the same build is as good.
// `mapping` is one of the module's code, as it is now; nullptr where nobody says.
OpenedFile OpenModule(const FoundModule& found, const std::string& path, const Mapping* mapping);

// Of code that was unloaded.
OpenedFile OpenUnloaded(const UnloadedModule& module);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_MODULE_FILE_H_
