// The source position of code, from .debug_line (DWARF 2 to 5, section 6.2).
//
// May allocate; not for use inside malloc.  Bounds-checked against hostile files; compressed
// sections are taken as missing.  Addresses are without load bias.
#ifndef ALLOMON_TRACKER_SYMBOLS_LINE_TABLE_H_
#define ALLOMON_TRACKER_SYMBOLS_LINE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/unit_index.h"

namespace allomon::internal {

struct LineHeader;

struct SourceLine {
  std::string file;  // the path that the compiler was given, with its folder
  uint64_t line;
};

class LineTable {
 public:
  // Keeps pointers into `file`, which must outlive the table.
  explicit LineTable(const ElfFile& file);

  // Returns the line of the code at `address`.  If several rows have exactly that address, the
  // first counts, which for a function's first address is the line of its head.
  //
  // Cost: the first address of a unit runs the unit's line program, and each address runs a part of
  // it again.  The first address that no unit claims costs the programs of all units that claim no
  // addresses; in a file without .debug_aranges, of all units.
  std::optional<SourceLine> Find(uint64_t address);

  size_t UnitsReadForTesting() const { return added_.size(); }

 private:
  // One run: addresses [low, high), in the program of the unit at `unit`, from the instruction at
  // `program`.
  struct Sequence {
    uint64_t low;
    uint64_t high;
    const uint8_t* unit;
    const uint8_t* program;
  };

  // Notes where each run of ascending addresses is, by running the unit's line program once.
  void AddSequences(const uint8_t* unit, const LineHeader& header);
  void AddUnitAt(uint64_t offset);
  void AddUnitsThatClaimNone();
  void AddAllUnits();
  // Reads the units that are necessary to find the address.
  void PrepareFor(uint64_t address);
  std::optional<SourceLine> FindPrepared(uint64_t address) const;

  ByteReader lines_;         // .debug_line
  ByteReader line_strings_;  // .debug_line_str
  ByteReader strings_;       // .debug_str
  UnitIndex index_;
  std::vector<uint64_t> added_;      // offsets of units, ascending
  bool has_silent_ = false;          // the units that claim no addresses have been added
  std::vector<Sequence> sequences_;  // of the units that were added; by low
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_LINE_TABLE_H_
