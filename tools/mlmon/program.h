#ifndef ALLOMON_TOOLS_MLMON_PROGRAM_H_
#define ALLOMON_TOOLS_MLMON_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/text/regexp.h"
#include "tracker/formats/source_table.h"

namespace allomon::mlprof {

// An executable's answer about itself.
struct Program {
  std::string file;            // as given on the command line
  SourceTable table;           // with short names under -long-name false
  std::vector<bool> is_split;  // by name: true if the name is shown per source
};

// Returns the text that -keep and -split match: the name and, if there is one, two spaces and the
// position.
std::string FullName(const SourceName& name);

// Asks the executable `file`, which must exist, run and be compiled for profiling.  On failure
// returns false and sets `error` to one line.
bool LoadProgram(const std::string& file, bool long_names, const std::vector<Regexp>& split,
                 Program* program, std::string* error);

// Does the same as LoadProgram(), from an answer that the caller has already.
bool ProgramFromAnswer(const std::string& file, std::string_view answer, bool long_names,
                       const std::vector<Regexp>& split, Program* program, std::string* error);

// Runs `executable @MLton show-sources`, without a shell or a search of PATH, and returns its
// output.  The exit status is ignored: the caller judges the answer by its text.  A program that
// cannot be run gives an empty answer.
//
// The child gets this process's directory, environment and standard error.  Its standard input is
// an empty pipe.  The call waits until every process that holds the child's standard output has
// closed it.
std::string AskSources(const std::string& executable);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLMON_PROGRAM_H_
