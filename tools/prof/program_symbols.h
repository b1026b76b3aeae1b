// The functions of an executable or library, as its symbol table lists them.
#ifndef ALLOMON_TOOLS_PROF_PROGRAM_SYMBOLS_H_
#define ALLOMON_TOOLS_PROF_PROGRAM_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::prof {

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

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_PROGRAM_SYMBOLS_H_
