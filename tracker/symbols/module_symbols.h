// Names, extents and source positions in the code of one ELF file.
//
// May allocate; not for use inside malloc.  Addresses are without load bias.  One thread at a time,
// because the line table is read when first asked for.
#ifndef ALLOMON_TRACKER_SYMBOLS_MODULE_SYMBOLS_H_
#define ALLOMON_TRACKER_SYMBOLS_MODULE_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/function_table.h"
#include "tracker/symbols/line_table.h"
#include "tracker/symbols/mapped_image.h"

namespace allomon::internal {

class ModuleSymbols {
 public:
  // `path` is used to find a separate debug file; empty: no search.
  ModuleSymbols(std::unique_ptr<ElfFile> file, const std::string& path);

  // For a module whose file cannot be opened: exported names, no lines, and no offsets in the file.
  ModuleSymbols(std::unique_ptr<MappedImage> image, std::string build_id);

  // In lower-case hexadecimal, or empty.
  const std::string& build_id() const { return build_id_; }

  // See ElfFile::AddressOfOffset.
  std::optional<uint64_t> AddressOfOffset(uint64_t offset) const;

  // Returns the function that covers `address`, with a mangled name; nullptr if there is none.  A
  // symbol covers its size.  A symbol without a size covers its own FDE; in code without FDEs it
  // reaches to the next symbol, if the file is not stripped.
  const FunctionSymbol* FindSymbol(uint64_t address) const;
  std::optional<FunctionRange> FindFde(uint64_t address) const { return fdes_.Find(address); }
  // The line of the function that starts there.
  std::optional<SourceLine> FindLine(uint64_t function_start);

 private:
  std::unique_ptr<ElfFile> file_;  // or:
  std::unique_ptr<MappedImage> image_;
  const std::string build_id_;
  std::unique_ptr<ElfFile> debug_file_;  // nullptr if there is no such file, or it is not needed
  SymbolTable symbols_;
  FdeTable fdes_;
  bool knows_all_ = false;  // a .symtab was read: code between two symbols has no other name
  std::unique_ptr<LineTable> lines_;
};

// ---- Finds the separate debug file into which a distribution has moved the symbols of a stripped
// file.

// Opens the debug file of `file`, which was opened as `path`: by build id under
// /usr/lib/debug/.build-id, else by .gnu_debuglink, whose checksum must then agree.  nullptr if
// there is no such file.  Cost: with a debug link, reading the whole debug file.
std::unique_ptr<ElfFile> OpenDebugFile(const ElfFile& file, const std::string& path);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_MODULE_SYMBOLS_H_
