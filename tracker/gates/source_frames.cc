#include "tracker/gates/source_frames.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace allomon::internal {
namespace {

int NoSeparateDebugFile(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                        GElf_Word, char**) {
  return -1;
}

Dwfl* ReportThisProcess() {
  static char* no_path = nullptr;
  static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, NoSeparateDebugFile, nullptr,
                                           &no_path};
  Dwfl* dwfl = dwfl_begin(&callbacks);
  if (dwfl == nullptr) return nullptr;
  dwfl_linux_proc_report(dwfl, getpid());
  dwfl_report_end(dwfl, nullptr, nullptr);
  return dwfl;
}

std::string Demangled(const char* name) {
  if (name == nullptr) return "[unknown]";
  int status = 0;
  char* demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (demangled == nullptr) return name;
  std::string result = demangled;
  std::free(demangled);
  return result;
}

std::string NameOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
  return Demangled(linkage != nullptr ? linkage : dwarf_diename(die));
}

int NumberOf(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return static_cast<int>(value);
}

// Bazel compiles in /proc/self/cwd, the root of the workspace; "./" is the same place.
std::string FromWorkspace(std::string_view path) {
  for (const std::string_view root : {"/proc/self/cwd/", "./"}) {
    if (path.substr(0, root.size()) == root) path.remove_prefix(root.size());
  }
  return std::string(path);
}

// One line of source.  Moves outwards, from an inlined call to the line that made it.
class Position {
 public:
  Position(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Die* unit) {
    size_t count = 0;
    if (dwarf_getsrcfiles(unit, &files_, &count) != 0) files_ = nullptr;
    Dwfl_Line* line = dwfl_module_getsrc(module, pc);
    if (line == nullptr) return;
    const char* file = dwfl_lineinfo(line, nullptr, &line_, nullptr, nullptr, nullptr);
    if (file != nullptr) file_ = file;
  }

  void MoveToCallOf(Dwarf_Die* inlined) {
    const int file = NumberOf(inlined, DW_AT_call_file);
    const char* path =
        files_ == nullptr || file == 0 ? nullptr : dwarf_filesrc(files_, file, nullptr, nullptr);
    file_ = path == nullptr ? "" : path;
    line_ = path == nullptr ? 0 : NumberOf(inlined, DW_AT_call_line);
  }

  SourceFrame FrameOf(std::string function) const {
    return {std::move(function), FromWorkspace(file_), line_};
  }

 private:
  Dwarf_Files* files_ = nullptr;
  std::string file_;
  int line_ = 0;
};

// The physical nesting around pc, innermost first.  (dwarf_getscopes() alone would go on with what
// surrounds the inlined function's definition.)
std::vector<Dwarf_Die> ScopesAround(Dwarf_Die* unit, Dwarf_Addr pc) {
  Dwarf_Die* found = nullptr;
  std::vector<Dwarf_Die> scopes;
  if (dwarf_getscopes(unit, pc, &found) <= 0) return scopes;
  Dwarf_Die* nesting = nullptr;
  const int count = dwarf_getscopes_die(found, &nesting);
  if (count > 0) scopes.assign(nesting, nesting + count);
  std::free(nesting);
  std::free(found);
  return scopes;
}

std::vector<SourceFrame> FramesInModule(Dwfl_Module* module, Dwarf_Addr pc) {
  const std::string symbol = Demangled(dwfl_module_addrname(module, pc));
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, pc, &bias);
  if (unit == nullptr) return {{symbol, "", 0}};
  std::vector<SourceFrame> frames;
  Position position(module, pc, unit);
  for (Dwarf_Die& scope : ScopesAround(unit, pc - bias)) {
    if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) continue;
    frames.push_back(position.FrameOf(NameOf(&scope)));
    position.MoveToCallOf(&scope);
  }
  frames.push_back(position.FrameOf(symbol));
  return frames;
}

// All that is known about the code of this process.  Guarded by the caller.
class Process {
 public:
  const std::vector<SourceFrame>& At(Dwarf_Addr pc) {
    const auto found = known_.find(pc);
    return found != known_.end() ? found->second : known_.emplace(pc, Look(pc)).first->second;
  }

 private:
  std::vector<SourceFrame> Look(Dwarf_Addr pc) {
    Dwfl_Module* module = dwfl_ == nullptr ? nullptr : dwfl_addrmodule(dwfl_, pc);
    if (module == nullptr) {  // the first question, or code that was loaded meanwhile
      dwfl_end(dwfl_);
      dwfl_ = ReportThisProcess();
      module = dwfl_ == nullptr ? nullptr : dwfl_addrmodule(dwfl_, pc);
    }
    if (module == nullptr) return {{"[unknown]", "", 0}};
    return FramesInModule(module, pc);
  }

  Dwfl* dwfl_ = nullptr;
  std::unordered_map<Dwarf_Addr, std::vector<SourceFrame>> known_;  // its elements do not move
};

}  // namespace

const std::vector<SourceFrame>& FramesOfCall(uintptr_t return_address) {
  static std::mutex mutex;
  static Process& process = *new Process;  // scopes may end during exit
  std::lock_guard<std::mutex> hold(mutex);
  return process.At(return_address - 1);
}

std::string ToString(const SourceFrame& frame) {
  if (frame.file.empty()) return frame.function;
  return frame.function + "  " + frame.file + ":" + std::to_string(frame.line);
}

}  // namespace allomon::internal
