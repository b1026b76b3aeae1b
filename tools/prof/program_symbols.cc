#include "tools/prof/program_symbols.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "tools/symbols/code_file.h"
#include "tools/symbols/demangle.h"
#include "tracker/names/base_name.h"

namespace allomon::prof {
namespace {

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

// Ranks several names of one address, so that every run takes the same: a global one, then the one
// with the longest extent, then the shortest name.
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
    // Functions in assembly may have no sizes.
    if (f.end == f.begin || f.end > next) f.end = next;
    f.name = Demangled(f.name);
  }
}

std::string UnnamedAt(const std::string& path, uint64_t begin) {
  char offset[24];
  snprintf(offset, sizeof(offset), "+0x%" PRIx64, begin);
  return BaseName(path) + offset;
}

// Adds unnamed functions from the unwind table, named by module and start.  A named function before
// one ends at its start.  A symbol without a size ends at the end of its entry in the unwind table.
void AddUnnamed(const std::string& path, const std::vector<UnwindRange>& ranges,
                std::vector<Function>* functions) {
  std::map<uint64_t, Function*> named;
  for (Function& f : *functions) {
    Function*& best = named[f.begin];
    if (best == nullptr || best->end < f.end) best = &f;
  }
  std::vector<Function> unnamed;
  for (const UnwindRange& range : ranges) {
    const auto above = named.upper_bound(range.begin);
    Function* const before = above == named.begin() ? nullptr : std::prev(above)->second;
    if (before != nullptr && before->begin == range.begin) {
      if (before->end == before->begin) before->end = range.end;
    } else if (before == nullptr || before->end <= range.begin) {
      unnamed.push_back({range.begin, range.end, UnnamedAt(path, range.begin), false});
    }
  }
  functions->insert(functions->end(), unnamed.begin(), unnamed.end());
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
  AddUnnamed(path, file->Ranges(), &program->functions);
  if (program->functions.empty()) {
    return Fail(path + " has neither symbols nor unwind tables; build it without stripping", error);
  }
  SortFunctions(program->code_high, &program->functions);
  return true;
}

}  // namespace allomon::prof
