// Names of code that a program makes while it runs, by the files that it writes for perf:
// /tmp/perf-PID.map, a line for each function (node --perf-basic-prof, DOTNET_PerfMapEnabled=1,
// LuaJIT, Java with an agent), and jit-PID.dump (jit_dump.h).
//
// Source: linux, tools/perf/Documentation/jit-interface.txt.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_PERF_MAP_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_PERF_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/recording/jit_dump.h"

namespace allomon::recording {

// A function's name, and where it is, as far as the name tells.
struct GeneratedFunction {
  std::string_view name;
  std::string_view file;
  uint32_t line = 0;
};

// V8's names are "JS:*handler /srv/app.js:12:3": a kind, a mark of the compiler, the function,
// which may have no name, and its place.  Other names are taken as they are.
GeneratedFunction ParseGeneratedName(std::string_view name);

class PerfMap {
 public:
  static constexpr size_t kMostBytes = size_t{256} << 20;  // of a file; the rest is left out

  // Of a process that began to record at `start_realtime_nanos`: the files in /tmp of this mount
  // namespace, or, while the process runs, in that of its own, by its innermost number.  A dump is
  // also looked for where the process has it mapped, while it runs; in the folder that we are in;
  // and in .debug/jit/*/ of $JITDUMPDIR, or else $HOME.  Empty if there is none, if it is older
  // than the process, or if neither the user nor root owns it: anybody can make a file in /tmp.
  static PerfMap OfProcess(uint32_t pid, uint64_t start_realtime_nanos);

  // Lines that are none are passed over.  `dump` is a jit-PID.dump of `pid`; where both have a
  // function, it counts.  Cost: n log n of the functions.
  explicit PerfMap(std::string text, std::string dump = "", uint32_t pid = 0);

  bool empty() const { return functions_.empty(); }
  // The name of the function that the address lies in; empty: none.  Of functions that had the same
  // place one after the other, the last.  Valid as long as the map.
  std::string_view Find(uint64_t address) const;

  // The function and its place, by the dump or else by the name; without a name: none.
  GeneratedFunction FindFunction(uint64_t address) const;

 private:
  void AddLines(std::vector<GeneratedCode>* functions) const;
  const GeneratedCode* At(uint64_t address) const;

  // They stay where they are when the map is moved.
  std::unique_ptr<const std::string> text_;
  std::unique_ptr<const std::string> dump_;
  std::vector<GeneratedCode> functions_;  // by begin; none overlap
  bool has_dump_ = false;                 // functions of a dump
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_PERF_MAP_H_
