#include "tracker/gates/source_frames.h"

#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tracker/dwarf/inlined_frames.h"
#include "tracker/names/readable_name.h"

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

std::string ReadableOr(const std::string& symbol) {
  return symbol.empty() ? "[unknown]" : ReadableName(symbol);
}

std::vector<SourceFrame> FramesInModule(CodeUnits* units, Dwarf_Addr pc) {
  std::vector<SourceFrame> frames;
  for (DwarfFrame& frame : FramesAt(units, pc, 0)) {
    frames.push_back({ReadableOr(frame.symbol), std::move(frame.file), frame.line});
  }
  return frames;
}

// All known facts about the code of this process.  Guarded by the caller.
class Process {
 public:
  const std::vector<SourceFrame>& At(Dwarf_Addr pc) {
    const auto found = known_.find(pc);
    return found != known_.end() ? found->second : known_.emplace(pc, Look(pc)).first->second;
  }

 private:
  // libdwfl rounds segments up by their alignment: it may give the module below for code that was
  // loaded after it had looked.
  Dwfl_Module* ModuleAt(Dwarf_Addr pc) const {
    Dwfl_Module* const module = dwfl_ == nullptr ? nullptr : dwfl_addrmodule(dwfl_, pc);
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    if (module == nullptr) return nullptr;
    dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr);
    return begin <= pc && pc < end ? module : nullptr;
  }

  std::vector<SourceFrame> Look(Dwarf_Addr pc) {
    Dwfl_Module* module = ModuleAt(pc);
    if (module == nullptr) {  // the first query, or code that was loaded meanwhile
      units_.clear();
      dwfl_end(dwfl_);
      dwfl_ = ReportThisProcess();
      module = ModuleAt(pc);
    }
    if (module == nullptr) return {{"[unknown]", "", 0}};
    std::unique_ptr<CodeUnits>& units = units_[module];
    if (units == nullptr) units = std::make_unique<CodeUnits>(module);
    return FramesInModule(units.get(), pc);
  }

  Dwfl* dwfl_ = nullptr;
  std::unordered_map<Dwfl_Module*, std::unique_ptr<CodeUnits>> units_;  // of dwfl_
  std::unordered_map<Dwarf_Addr, std::vector<SourceFrame>> known_;      // its elements do not move
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
