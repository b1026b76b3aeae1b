// A file with code, and its debug file: names, lines and inlined calls for its addresses.
#ifndef ALLOMON_TOOLS_SYMBOLS_CODE_FILE_H_
#define ALLOMON_TOOLS_SYMBOLS_CODE_FILE_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/symbols/debug_search.h"
#include "tools/symbols/unwind_ranges.h"
#include "tracker/dwarf/code_units.h"
#include "tracker/formats/file_identity.h"

namespace allomon {

struct CodeFrame {
  std::string name;  // demangled; "<file name>+0x<start>" without a symbol
  std::string file;  // of the source; "" if not known, then `line` is 0
  int line = 0;
  bool named = false;  // whether the name comes from a symbol or a debug file
  std::string symbol;  // the linker's name; empty if not known
  int start_line = 0;  // where the function is declared; 0 if not known
};

// A function of a symbol table.
struct CodeSymbol {
  uint64_t begin = 0;
  uint64_t end = 0;  // `begin` if the table does not say
  std::string symbol;
  bool is_local = false;
};

// Addresses are those of the file, without load bias.  Not thread safe.  Cost: opening reads
// headers; the first question, the debug file's index; see inlined_frames.h.
class CodeFile {
 public:
  // nullptr if the file is gone, or is no regular ELF file.  `debug_folder` as in debug_search.h.
  static std::unique_ptr<CodeFile> Open(const std::string& path, const std::string& debug_folder);
  ~CodeFile();
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;

  // In lower-case hexadecimal, or empty.
  std::string BuildId() const;

  // Of the file that was opened.
  const FileIdentity& identity() const { return identity_; }

  // The extent of its executable sections; both 0 if it has none.
  uint64_t CodeBegin() const;
  uint64_t CodeEnd() const;

  // The address of the byte of the file.  False if it is not loaded.
  bool AddressOfOffset(uint64_t file_offset, uint64_t* address) const;

  // The part of the file that is loaded as code.  False if there is none, or more than one.
  bool CodeSegment(uint64_t* file_offset, uint64_t* address, uint64_t* bytes) const;

  // The frames at `address`, innermost inlined call first; at least one.  The code of its function
  // starts at `start`.
  std::vector<CodeFrame> At(uint64_t address, uint64_t start) const;

  // All functions of the symbol tables: the file's own and its debug file's.
  std::vector<CodeSymbol> Symbols() const;

  // What the unwind table says of functions, with or without names.
  std::vector<UnwindRange> Ranges() const { return UnwindRangesOf(module_); }

 private:
  CodeFile(std::string path, const FileIdentity& identity, Dwfl* session, Dwfl_Module* module)
      : path_(std::move(path)), identity_(identity), session_(session), module_(module) {}

  void TakeChoice() const;
  void FindDebugFile() const;

  const std::string path_;
  const FileIdentity identity_;
  std::string debug_folder_;
  mutable DebugChoice choice_;
  mutable Dwfl* session_;
  mutable Dwfl_Module* module_;
  mutable std::unique_ptr<CodeUnits> units_;  // from the first question on
};

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_CODE_FILE_H_
