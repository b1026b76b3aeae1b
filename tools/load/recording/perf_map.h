// Names of code that a program makes while it runs, by the file that it writes for perf:
// /tmp/perf-PID.map, a line for each function (node --perf-basic-prof, DOTNET_PerfMapEnabled=1,
// LuaJIT, Java with an agent).
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

  // Of a process that began to record at `start_realtime_nanos`: the file in /tmp of this mount
  // namespace, or, while the process runs, in that of its own, by its innermost number.  Empty if
  // there is none, if it is older than the process, or if neither the user nor root owns it:
  // anybody can make a file in /tmp.
  static PerfMap OfProcess(uint32_t pid, uint64_t start_realtime_nanos);

  // Lines that are none are passed over.  Cost: n log n of the lines.
  explicit PerfMap(std::string text);

  bool empty() const { return functions_.empty(); }
  // The name of the function that the address lies in; empty: none.  Of functions that had the same
  // place one after the other, the last.  Valid as long as the map.
  std::string_view Find(uint64_t address) const;

 private:
  struct Function {
    uint64_t begin;
    uint64_t end;
    std::string_view name;
  };

  std::unique_ptr<const std::string> text_;  // stays where it is when the map is moved
  std::vector<Function> functions_;          // by begin; none overlap
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_PERF_MAP_H_
