#include "tools/prof/program_symbols.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "tracker/symbols/debug_file.h"
#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/elf_functions.h"

namespace allomon::prof {
namespace {

using internal::ElfFile;
using internal::ElfSection;

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? readable.get() : name;
}

void AddFunctions(const ElfFile& file, std::vector<Function>* out) {
  internal::ForEachFunction(file, [out](const Elf64_Sym& symbol, std::string_view name) {
    out->push_back({symbol.st_value, symbol.st_value + symbol.st_size, std::string(name),
                    ELF64_ST_BIND(symbol.st_info) == STB_LOCAL});
  });
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

void FindCode(const ElfFile& file, Program* program) {
  program->code_low = UINT64_MAX;
  for (size_t i = 0; i < file.section_count(); ++i) {
    const ElfSection section = file.Section(i);
    const std::string_view name = file.NameOf(section);
    // ElfSection has no flags.  Sections of code have names that begin so.
    const bool is_code = name.substr(0, 5) == ".text" || name == ".init" || name == ".fini" ||
                         name.substr(0, 4) == ".plt";
    if (!is_code || section.size == 0) continue;
    program->code_low = std::min(program->code_low, section.address);
    program->code_high = std::max(program->code_high, section.address + section.size);
  }
}

}  // namespace

bool ReadProgram(const std::string& path, Program* program, std::string* error) {
  const std::unique_ptr<ElfFile> file = ElfFile::Open(path);
  if (file == nullptr) {
    const bool readable = access(path.c_str(), R_OK) == 0;
    return Fail((readable ? path + " is not a 64-bit ELF file"
                          : "cannot read " + path + ": " + strerror(errno)) +
                    "; name the program that ran",
                error);
  }
  program->path = path;
  program->build_id = file->BuildId();
  FindCode(*file, program);
  if (program->code_high == 0) return Fail(path + " holds no code", error);
  const std::unique_ptr<ElfFile> debug_file = internal::OpenDebugFile(*file, path);
  for (const ElfFile* f :
       {static_cast<const ElfFile*>(file.get()), static_cast<const ElfFile*>(debug_file.get())}) {
    if (f != nullptr) AddFunctions(*f, &program->functions);
  }
  if (program->functions.empty()) {
    return Fail(path + " has no symbols; build it without stripping", error);
  }
  SortFunctions(program->code_high, &program->functions);
  return true;
}

}  // namespace allomon::prof
