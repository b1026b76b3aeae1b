// Files that programs write for perf about code that they make: an input is a perf-PID.map and a
// jit-PID.dump with a line of dashes between them.
#include <algorithm>
#include <string>

#include "tests/fuzz/target.h"
#include "tests/recording_reader/support/jit_dump_file.h"
#include "tools/load/recording/jit_dump.h"
#include "tools/load/recording/perf_map.h"

namespace allomon::fuzz {
namespace {

constexpr uint32_t kPid = 7;
constexpr std::string_view kBetween = "\n----\n";

bool CheckGenerated(std::string_view input) {
  using recording::GeneratedCode;
  const size_t between = std::min(input.find(kBetween), input.size());
  const std::string_view text = input.substr(0, between);
  const std::string_view dump = input.substr(std::min(between + kBetween.size(), input.size()));
  const recording::PerfMap map{std::string(text), std::string(dump), kPid};
  for (const GeneratedCode& code : recording::ReadJitDump(dump, kPid)) {
    Require(code.begin < code.end && !code.name.empty(), "a function has code and a name");
    for (const uint64_t address : {code.begin, code.end - 1, code.end}) {
      const std::string_view name = map.Find(address);
      const recording::GeneratedFunction function = map.FindFunction(address);
      Require(name.empty() == function.name.empty(), "a place has one function");
    }
  }
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1000}, UINT64_MAX}) {
    (void)map.FindFunction(address);
  }
  return !map.empty();
}

}  // namespace

std::vector<std::string> Seeds() {
  recording::JitDumpFile dump(kPid);
  dump.AddPlaces(0x1000, {{0x1004, 12, "/srv/a.js"}, {0x1008, 13, "\xff"}});
  dump.AddLoad(0x1000, 0x20, 1, "f");
  dump.AddMove(0x1000, 0x5000, 0x20, 1);
  dump.AddLoad(0x1010, 0x20, 2, "JS:*g /srv/a.js:4:1");
  const std::string map =
      "1000 20 JS:~f /a b.js:1:2\n0x2000 10 g\n1010 8 LazyCompile:~ node:internal/x:7:1\n";
  return {map, map + std::string(kBetween) + dump.text(), std::string(kBetween) + dump.text()};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckGenerated(TextOf(data, size)));
}
