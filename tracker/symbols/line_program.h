// One unit of .debug_line: its header, and the machine that produces its rows.
//
// Bounds-checked; allocates only for the lists of folders and files.
#ifndef ALLOMON_TRACKER_SYMBOLS_LINE_PROGRAM_H_
#define ALLOMON_TRACKER_SYMBOLS_LINE_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/base/byte_reader.h"

namespace allomon::internal {

struct LineHeader {
  struct File {
    std::string_view name;
    uint64_t folder = 0;
  };

  uint16_t version = 0;
  uint8_t min_instruction_bytes = 1;
  int8_t line_base = 0;
  uint8_t line_range = 1;
  uint8_t opcode_base = 1;
  std::vector<uint8_t> operand_counts;  // of opcodes 1 to opcode_base - 1
  std::vector<std::string_view> folders;
  std::vector<File> files;
  ByteReader program;

  // The path of a row's file: "folder/name", or the name alone if it is absolute, or in the folder
  // that the compiler was started in.
  std::string PathOf(uint64_t file) const;
};

// The sections that a header's names may point into.
struct LineStrings {
  ByteReader line_strings;  // .debug_line_str
  ByteReader strings;       // .debug_str
};

// Reads the unit at the start of *lines and moves past it.  False if the unit cannot be used;
// *lines then is past it all the same, or at its end if even the length is wrong.
[[nodiscard]] bool ReadLineHeader(ByteReader* lines, const LineStrings& strings,
                                  LineHeader* header);

struct LineRow {
  uint64_t address = 0;
  uint64_t file = 1;
  uint64_t line = 1;
  bool ends_sequence = false;
};

class LineMachine {
 public:
  // Starts at the beginning of the unit's program, or of any sequence in it.
  LineMachine(const LineHeader& header, ByteReader program) : header_(header), program_(program) {}

  // Runs on to the next row.  False at the end of the program, or where it is broken.
  [[nodiscard]] bool Next(LineRow* row);
  // The next instruction; at the start of a sequence if the last row ended one.
  const uint8_t* position() const { return program_.position(); }

 private:
  bool Execute(uint8_t opcode);
  void ExecuteStandard(uint8_t opcode);
  void ExecuteExtended();
  void ExecuteSpecial(uint8_t adjusted);
  void AdvanceAddress(uint64_t operations) {
    state_.address += operations * header_.min_instruction_bytes;
  }

  const LineHeader& header_;
  ByteReader program_;
  LineRow state_;
  bool has_row_ = false;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_LINE_PROGRAM_H_
