// Charges ticks and calls to functions.
#ifndef ALLOMON_TOOLS_PROF_CHARGE_H_
#define ALLOMON_TOOLS_PROF_CHARGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/prof/program_symbols.h"
#include "tracker/formats/mon_file.h"

namespace allomon::prof {

// A line of the report.
struct Row {
  const Function* function = nullptr;  // null: code without a symbol
  const Program* program = nullptr;
  double seconds = 0;
  std::optional<uint64_t> calls;  // nullopt: not compiled for profiling, or not called
};

struct Charges {
  std::vector<Row> rows;
  double seconds = 0;        // sum over all rows
  double other_seconds = 0;  // of the program, outside all ranges
  uint64_t calls = 0;
};

// Charges ticks and calls.  The ticks of a cell that several functions share are divided by the
// bytes of each function in it.  Without `statics`, a static function is charged to the global one
// before it in the program.  Messages name `mon_file`.  On failure returns false, and *error is one
// line.
bool Charge(const std::vector<MonRange>& ranges, const std::vector<Program>& programs, bool statics,
            const std::string& mon_file, Charges* charges, std::string* error);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_CHARGE_H_
