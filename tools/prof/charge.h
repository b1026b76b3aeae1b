// Charges ticks and calls to functions.
#ifndef ALLOMON_TOOLS_PROF_CHARGE_H_
#define ALLOMON_TOOLS_PROF_CHARGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracker/formats/mlmon.h"
#include "tracker/formats/mon_file.h"

namespace allomon::prof {

// ---- The functions of an executable or library, as its symbol table lists them.

struct Function {
  uint64_t begin = 0;  // without load bias
  uint64_t end = 0;
  std::string name;  // demangled
  bool is_static = false;
};

struct Program {
  std::string path;
  std::string build_id;   // in lower-case hexadecimal, or empty
  uint64_t code_low = 0;  // range of the executable sections
  uint64_t code_high = 0;
  // Sorted by begin, which is unique.  A function ends at the next one's begin at the latest.
  std::vector<Function> functions;
};

// On failure returns false, and *error is one line with the path, the cause and a remedy.
bool ReadProgram(const std::string& path, Program* program, std::string* error);

// A line of the report.
struct Row {
  const Function* function = nullptr;  // null: code without a symbol
  const Program* program = nullptr;
  double seconds = 0;
  std::optional<MlmonInt> calls;  // nullopt: not compiled for profiling, or not called
};

struct Charges {
  std::vector<Row> rows;
  double seconds = 0;        // of all rows: what the cells say
  double other_seconds = 0;  // of the program, outside all ranges
  MlmonInt calls = 0;
};

// Charges ticks and calls.  The ticks of a cell that several functions share are divided by the
// bytes of each function in it.  Without `statics`, a static function is charged to the global one
// before it in the program.  Messages name `mon_file`.  On failure returns false, and *error is one
// line.
bool Charge(const std::vector<MonRange>& ranges, const std::vector<Program>& programs, bool statics,
            const std::string& mon_file, Charges* charges, std::string* error);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_CHARGE_H_
