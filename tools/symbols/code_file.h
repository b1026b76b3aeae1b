// Reads a code file and its debug file: names, lines and inlined calls at its addresses.
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
  std::string file;  // source file; "" if not known, then `line` is 0
  int line = 0;
  bool named = false;  // true if the name comes from a symbol or a debug file
  std::string symbol;  // the linker's name; "" if not known
  int start_line = 0;  // line of the function's declaration; 0 if not known
};

// A function of a symbol table.
struct CodeSymbol {
  uint64_t begin = 0;
  uint64_t end = 0;  // `begin` if the table does not say
  std::string symbol;
  bool is_local = false;
};

// Reads one file of code.  Addresses are those of the file, without load bias.  Not thread safe.
// Cost: opening reads headers; the first query reads the debug file's index; see inlined_frames.h.
class CodeFile {
 public:
  // nullptr if the file is gone, or is no regular ELF file.  `debug_folder` as in debug_search.h.
  static std::unique_ptr<CodeFile> Open(const std::string& path, const std::string& debug_folder);
  ~CodeFile();
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;

  // In lower-case hexadecimal; empty if the file has no build id.
  std::string BuildId() const;

  // The identity of the file that was opened.
  const FileIdentity& identity() const { return identity_; }

  // The address range of the executable sections; both ends are 0 if the file has no code.
  uint64_t CodeBegin() const;
  uint64_t CodeEnd() const;

  // Finds the address of a byte of the file.  False if that byte is not loaded.
  bool AddressOfOffset(uint64_t file_offset, uint64_t* address) const;

  // Finds the segment of the file that is loaded as code.  False unless there is exactly one.
  bool CodeSegment(uint64_t* file_offset, uint64_t* address, uint64_t* bytes) const;

  // Returns the frames at `address`, innermost inlined call first; at least one.  `start` is the
  // address where the function's code begins.
  std::vector<CodeFrame> At(uint64_t address, uint64_t start) const;

  // Returns all functions of two symbol tables: the file's own and its debug file's.
  std::vector<CodeSymbol> Symbols() const;

  // Returns the code ranges in the unwind table, which has functions with and without names.
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
