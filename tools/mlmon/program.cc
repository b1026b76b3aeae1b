#include "tools/mlmon/program.h"

#include <unistd.h>

#include <algorithm>

#include "tools/mlmon/ask_sources.h"
#include "tools/symbols/demangle.h"

namespace allomon::mlprof {
namespace {

bool UserError(const std::string& file, const char* what, std::string* error) {
  *error = "Error: executable '" + file + "' " + what + ".";
  return false;
}

// Replaces a name by its part after the last dot that has something after it.  A name that consists
// of dots stays.
void Shorten(SourceName* name) {
  // Names without a position are those of the runtime, and have no long form.
  if (name->position.empty()) return;
  const size_t end = name->name.find_last_not_of('.');
  if (end == std::string::npos) return;
  const size_t dot = name->name.rfind('.', end);
  const size_t start = dot == std::string::npos ? 0 : dot + 1;
  name->name = name->name.substr(start, end + 1 - start);
}

}  // namespace

std::string FullName(const SourceName& name) {
  return name.position.empty() ? name.name : name.name + "  " + name.position;
}

bool LoadProgram(const std::string& file, bool long_names, const std::vector<Regexp>& split,
                 Program* program, std::string* error) {
  if (access(file.c_str(), F_OK) != 0) {
    return UserError(file, "does not exist", error);
  }
  if (access(file.c_str(), X_OK) != 0) {
    return UserError(file, "does not run", error);
  }
  return ProgramFromAnswer(file, AskSources(file), long_names, split, program, error);
}

bool ProgramFromAnswer(const std::string& file, std::string_view answer, bool long_names,
                       const std::vector<Regexp>& split, Program* program, std::string* error) {
  program->file = file;
  program->is_split.clear();
  if (!ParseSources(answer, &program->table, error)) return false;
  if (program->table.names.empty()) {
    return UserError(file, "is not compiled for profiling", error);
  }
  for (SourceName& name : program->table.names) {
    name.name = DemangledForeign(name.name);  // demangled here, not in the process, because
                                              // demanglers are large
    if (!long_names) Shorten(&name);
    const std::string full_name = FullName(name);
    program->is_split.push_back(std::any_of(split.begin(), split.end(), [&](const Regexp& regexp) {
      return regexp.MatchesPrefix(full_name);
    }));
  }
  return true;
}

}  // namespace allomon::mlprof
