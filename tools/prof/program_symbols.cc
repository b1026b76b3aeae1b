#include "tools/prof/program_symbols.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "tools/symbols/code_file.h"
#include "tools/symbols/demangle.h"

namespace allomon::prof {
namespace {

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

// Of several names for one address every run takes the same: a global one, then the one with the
// longest extent, then the shortest name.
auto NameRank(const Function& f) {
  return std::make_tuple(f.begin, f.is_static, UINT64_MAX - f.end, f.name.size(),
                         std::string_view(f.name));
}

void SortFunctions(uint64_t code_high, std::vector<Function>* functions) {
  std::sort(functions->begin(), functions->end(),
            [](const Function& a, const Function& b) { return NameRank(a) < NameRank(b); });
  functions->erase(
      std::unique(functions->begin(), functions->end(),
                  [](const Function& a, const Function& b) { return a.begin == b.begin; }),
      functions->end());
  for (size_t i = 0; i < functions->size(); ++i) {
    Function& f = (*functions)[i];
    const uint64_t next = i + 1 < functions->size() ? (*functions)[i + 1].begin : code_high;
    // Functions in assembly have no sizes.
    if (f.end == f.begin || f.end > next) f.end = next;
    f.name = Demangled(f.name);
  }
}

}  // namespace

bool ReadProgram(const std::string& path, Program* program, std::string* error) {
  const std::unique_ptr<CodeFile> file = CodeFile::Open(path, "");
  if (file == nullptr) {
    const bool readable = access(path.c_str(), R_OK) == 0;
    return Fail((readable ? path + " is not a 64-bit ELF file"
                          : "cannot read " + path + ": " + strerror(errno)) +
                    "; name the program that ran",
                error);
  }
  program->path = path;
  program->build_id = file->BuildId();
  program->code_low = file->CodeBegin();
  program->code_high = file->CodeEnd();
  if (program->code_high == 0) return Fail(path + " holds no code", error);
  for (CodeSymbol& symbol : file->Symbols()) {
    program->functions.push_back(
        {symbol.begin, symbol.end, std::move(symbol.symbol), symbol.is_local});
  }
  if (program->functions.empty()) {
    return Fail(path + " has no symbols; build it without stripping", error);
  }
  SortFunctions(program->code_high, &program->functions);
  return true;
}

}  // namespace allomon::prof
