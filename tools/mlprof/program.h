#ifndef ALLOMON_TOOLS_MLPROF_PROGRAM_H_
#define ALLOMON_TOOLS_MLPROF_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/mlprof/regexp.h"
#include "tracker/formats/source_table.h"

namespace allomon::mlprof {

// What an executable says about itself.
struct Program {
  std::string file;            // as typed
  SourceTable table;           // with short names under -long-name false
  std::vector<bool> is_split;  // by name: shown per source, not per name
};

// What -keep and -split are matched against: the name and, if there is one, two
// spaces and the position.
std::string FullName(const SourceName& name);

// Asks the executable `file`, which must exist, run and be compiled for
// profiling.  On failure returns false and sets `error` to one line.
bool LoadProgram(const std::string& file, bool long_names, const std::vector<Regexp>& split,
                 Program* program, std::string* error);

// The same from an answer that is there already, by whomever `file` was asked.
bool ProgramFromAnswer(const std::string& file, std::string_view answer, bool long_names,
                       const std::vector<Regexp>& split, Program* program, std::string* error);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_PROGRAM_H_
