// Reads a code file and its debug file: names, lines and inlined calls at its addresses.
#ifndef ALLOMON_TOOLS_SYMBOLS_CODE_FILE_H_
#define ALLOMON_TOOLS_SYMBOLS_CODE_FILE_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracker/dwarf/code_units.h"
#include "tracker/formats/file_identity.h"

namespace allomon {

// ---- Finds debug files, on this machine only: never asks a server.

// A module's user data.  libdwfl keeps a debug file that it opened to compare build ids, whatever
// the search answers then: one that is to be expanded (below) takes another session.
struct DebugChoice {
  std::string compressed;  // set by the search: such a debug file was found
  std::string expand;      // set by who asks: it is taken, expanded, and nothing is searched
};

// Makes an empty session of libdwfl whose modules find their debug files in
//   .build-id/ of `folder`, if one is given, and of /usr/lib/debug
//   the name in .gnu_debuglink: beside the file, in .debug/ there, below both folders
//   .gnu_debugdata of the file itself: names alone
//   .build-id/ of /usr/lib/debug below the root folder of the process, of code that is opened by a
//     path below /proc/PID
//   a debuginfod client's cache, if there is one: $DEBUGINFOD_CACHE_PATH, else
//   debuginfod_client/ in $XDG_CACHE_HOME or ~/.cache
// Removes DEBUGINFOD_URLS from the program's environment, so that libdwfl asks no server.  The
// `folder` of the first call holds for the whole program.  nullptr if there is no memory.
Dwfl* BeginLocalSession(const std::string& folder);

// The address range of code that unwinds as one piece: a function, or a part of one.
struct UnwindRange {
  uint64_t begin = 0;  // address in the file, without load bias
  uint64_t end = 0;
};

// Returns the ranges in .eh_frame (Linux Standard Base, "Exception Frames"), in its order.  A
// stripped file still has them.  Leaves out entries in an encoding that linkers do not write.
std::vector<UnwindRange> UnwindRangesOf(Dwfl_Module* module);

// ---- Files whose debug sections are compressed by zstd, for an elfutils that cannot read them
// (before 0.189).

// Takes an open ELF file.  Answers a copy of it in memory in which these sections are not
// compressed, and closes the file; the file itself if it has none, if the sections are damaged or
// claim to be too large, or where Allomon was built without libzstd.  -1 stays -1.
//
// Cost: the headers of sections; of a file that has such sections, its bytes and theirs in memory
// until the copy is closed.
int ExpandedFile(int fd);

// Whether it would try.
bool IsExpandable(int fd);

// Returns the folder in which clients of debuginfod(8) keep their files, BUILD-ID/debuginfo and
// BUILD-ID/executable.
std::string DebugCacheFolder();

// ---- Addresses of a file.

// A part of a file that is loaded (PT_LOAD).
struct LoadedSegment {
  uint64_t file_offset = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;
  bool is_code = false;
};

// Finds the address of a byte of the file.  False if that byte is not loaded.
bool AddressOfOffset(const std::vector<LoadedSegment>& segments, uint64_t file_offset,
                     uint64_t* address);

// Finds the segment that is loaded as code.  False unless there is exactly one.
bool CodeSegment(const std::vector<LoadedSegment>& segments, LoadedSegment* segment);

// Makes the name of code without a symbol: "perl+0x1112d0".
std::string NameByAddress(const std::string& path, uint64_t start);

struct CodeFrame {
  std::string name;  // demangled; "<file name>+0x<start>" without a symbol
  std::string file;  // source file; "" if not known, then `line` is 0
  int line = 0;
  bool named = false;    // true if the name comes from a symbol or a debug file
  std::string symbol;    // the linker's name; "" if not known
  int start_line = 0;    // line of the function's declaration; 0 if not known
  int column = 0;        // of `line`; 0 if not known
  std::string new_type;  // DwarfFrame::new_type
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
  // nullptr if the file is gone, or is no regular ELF file.  `debug_folder` as for
  // BeginLocalSession().
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

  // Returns what of the file is loaded, by address.  A debug file states no bytes.
  std::vector<LoadedSegment> Segments() const;

  // Returns the frames at `address`, innermost inlined call first; at least one.  `start` is the
  // address where the function's code begins.
  std::vector<CodeFrame> At(uint64_t address, uint64_t start) const;

  // Returns the start of the function at `address` by the unwind table, which stripped files have,
  // too; `address` if no function is known there.  The first call reads the table.
  uint64_t StartOf(uint64_t address) const;

  // Whether there is more than names: the file's own debug information, or a debug file's.
  bool HasDebugInformation() const;

  // Returns all functions of two symbol tables: the file's own and its debug file's.
  std::vector<CodeSymbol> Symbols() const;

  // Returns the data objects of known size of both, sorted by address.
  std::vector<CodeSymbol> DataSymbols() const;

  // Returns the code ranges in the unwind table, which has functions with and without names.
  std::vector<UnwindRange> Ranges() const { return UnwindRangesOf(module_); }

 private:
  CodeFile(std::string path, const FileIdentity& identity, Dwfl* session, Dwfl_Module* module)
      : path_(std::move(path)), identity_(identity), session_(session), module_(module) {}

  std::vector<CodeSymbol> SymbolsThat(bool (*fits)(const GElf_Sym&)) const;
  void TakeChoice() const;
  void FindDebugFile() const;

  const std::string path_;
  const FileIdentity identity_;
  std::string debug_folder_;
  mutable DebugChoice choice_;
  mutable Dwfl* session_;
  mutable Dwfl_Module* module_;
  mutable std::unique_ptr<CodeUnits> units_;                        // from the first question on
  mutable std::unique_ptr<const std::vector<UnwindRange>> starts_;  // sorted; as `units_`
};

// ---- Names of symbols.

// Demangles Rust's v0 names and D's names, by GNU libiberty.  Returns other names unchanged.
std::string DemangledForeign(const std::string& name);

// Returns the form of a symbol for people: ReadableName (tracker/names/readable_name.h), and the
// above.
std::string Demangled(const std::string& symbol);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_CODE_FILE_H_
