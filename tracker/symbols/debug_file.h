// Finds the separate debug file into which a distribution has moved the symbols of a stripped file.
#ifndef ALLOMON_TRACKER_SYMBOLS_DEBUG_FILE_H_
#define ALLOMON_TRACKER_SYMBOLS_DEBUG_FILE_H_

#include <memory>
#include <string>

#include "tracker/symbols/elf_file.h"

namespace allomon::internal {

// Opens the debug file of `file`, which was opened as `path`: by build id under
// /usr/lib/debug/.build-id, else by .gnu_debuglink, whose checksum must then agree.  nullptr if
// there is no such file.  Cost: with a debug link, reading the whole debug file.
std::unique_ptr<ElfFile> OpenDebugFile(const ElfFile& file, const std::string& path);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_DEBUG_FILE_H_
