// The functions of one ELF file: by symbol, and by unwind table.
//
// May allocate; not for use inside malloc.  Addresses are without load bias.
#ifndef ALLOMON_TRACKER_SYMBOLS_FUNCTION_TABLE_H_
#define ALLOMON_TRACKER_SYMBOLS_FUNCTION_TABLE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tracker/callstack/cfi_entry.h"
#include "tracker/callstack/cfi_header.h"
#include "tracker/symbols/elf_file.h"

namespace allomon::internal {

struct FunctionRange {
  uint64_t begin;
  uint64_t end;
};

// A function with a name.  The name is mangled and points into the ELF file that it was read from;
// a symbol's version is cut off.
struct FunctionSymbol {
  FunctionRange range;
  std::string_view name;
};

// Named functions.  If several symbols share an address, the choice of the name is the same in
// every run: global before local, then without a leading underscore (not counting that of C++
// names), then the shorter, then by alphabet.
class SymbolTable {
 public:
  // Adds the functions of .symtab and .dynsym.  The file must outlive the table, and so must the
  // bytes of the second Add().  Call Sort() after the last Add().
  void Add(const ElfFile& file);
  // Adds the functions of a .dynsym with its .dynstr.
  void Add(ByteReader symbols, ByteReader strings);
  void Sort();

  // Returns the function whose extent contains `address`, the innermost if they are nested.  A
  // symbol without a size reaches to the next symbol, but yields to one that has a size. nullptr if
  // there is no such function.
  const FunctionSymbol* Find(uint64_t address) const;

 private:
  struct Candidate {
    FunctionSymbol symbol;
    uint64_t section_end;
    bool is_local;
  };

  static bool IsBetterName(const Candidate& a, const Candidate& b);
  void NoteHighestEnds();

  std::vector<Candidate> candidates_;  // until they are sorted
  std::vector<Candidate> functions_;   // by begin, which is unique
  // The highest end among functions_[0..i]: where a search to the left may stop.
  std::vector<uint64_t> highest_end_;
};

// The extents in .eh_frame, which has every function, named or not.  Searches the linker's own
// table if the file has one, so that a few queries cost little.
class FdeTable {
 public:
  // The file, or the bytes, must outlive the table.
  explicit FdeTable(const ElfFile& file);
  FdeTable(const CfiBytes& frames, const CfiBytes& header);
  // Nothing if no FDE covers `address`.
  std::optional<FunctionRange> Find(uint64_t address) const;

 private:
  std::optional<FunctionRange> FindByHeader(uint64_t address) const;
  void ReadAll();

  CfiBytes frames_ = {};
  CfiHeader header_;
  bool has_header_ = false;
  std::vector<FunctionRange> ranges_;  // by begin; for a file without the linker's table
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_FUNCTION_TABLE_H_
