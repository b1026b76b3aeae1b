// Names of code that a program generates while it runs.  They come from the file that the program
// writes for perf: /tmp/perf-PID.map, with a line for each function (node --perf-basic-prof,
// DOTNET_PerfMapEnabled=1, LuaJIT, Java with an agent).
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

// A function's name, and its source position if the name contains one.
struct GeneratedFunction {
  std::string_view name;
  std::string_view file;
  uint32_t line = 0;
};

// Parses names of V8, such as "JS:*handler /srv/app.js:12:3": a kind, a mark of the compiler, the
// function, which may have no name, and its position.  Returns other names unchanged.
GeneratedFunction ParseGeneratedName(std::string_view name);

class PerfMap {
 public:
  static constexpr size_t kMostBytes = size_t{256} << 20;  // per file; the rest is left out

  // Reads the map of a process that began to record at `start_realtime_nanos`.  While the process
  // runs, the file is in /tmp of the process's mount namespace, under its innermost process number;
  // else in /tmp of this one.  Ignores a file that is older than the process, and one that neither
  // the user nor root nor the process's own user has made, because anybody can make a file in /tmp.
  // Empty if no file is left.
  static PerfMap OfProcess(uint32_t pid, uint64_t start_realtime_nanos);

  // Lines that are none are passed over.  `dump` is a jit-PID.dump of `pid`; where both have a
  // function, it counts.  Cost: n log n of the functions.
  explicit PerfMap(std::string text, std::string dump = "", uint32_t pid = 0);

  bool empty() const { return functions_.empty(); }
  // Returns the name of the function at an address; empty if the map has no function there.  If
  // several functions had the same address one after the other, it is the last one.  Valid as long
  // as the map.
  std::string_view Find(uint64_t address) const;

  // The function and its place, by the name or else by the dump; without a name: none.
  GeneratedFunction FindFunction(uint64_t address) const;

 private:
  void AddLines(std::vector<GeneratedCode>* functions) const;
  const GeneratedCode* At(uint64_t address) const;

  // They stay where they are when the map is moved.
  std::unique_ptr<const std::string> text_;
  std::unique_ptr<const std::string> dump_;
  std::vector<GeneratedCode> functions_;  // by begin; none overlap
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_PERF_MAP_H_
