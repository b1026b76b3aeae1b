// Names of code that a program makes while it runs, by the file that it writes for perf: a
// jit-PID.dump (node --perf-prof, PHP's and LLVM's JIT compilers, Java with perf's agent, .NET).
//
// Source: linux, tools/perf/Documentation/jitdump-specification.txt.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_JIT_DUMP_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_JIT_DUMP_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace allomon::recording {

// No function of a map or a dump has more bytes, and no line is higher.
inline constexpr uint64_t kMostCodeBytes = uint64_t{1} << 32;
inline constexpr uint32_t kMostLine = 1'000'000'000;

// Code of a function in a process, and where it is in the sources; texts are the file's.
struct GeneratedCode {
  uint64_t begin;
  uint64_t end;
  std::string_view name;
  std::string_view file;  // empty if it is not known
  uint32_t line = 0;      // of the function's first instruction that has one
};

// The functions in the order of their records; one that was moved is there at each place.  What is
// damaged, or of another machine's byte order, ends the list.  Empty if the file is none of process
// `pid`, its number in its own namespace.
std::vector<GeneratedCode> ReadJitDump(std::string_view dump, uint32_t pid);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_JIT_DUMP_H_
