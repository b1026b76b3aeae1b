// Finds the program of a recording that people mean: not `timeout` or a shell, but the program that
// those start.
#ifndef ALLOMON_TOOLS_RUN_MAIN_PROGRAM_H_
#define ALLOMON_TOOLS_RUN_MAIN_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::run {

// The sum of all processes of one executable.
struct Program {
  std::string path;
  double allocated_bytes = 0;
  uint64_t samples = 0;
  int processes = 0;
  bool is_main = false;
};

// Returns the programs of a recording: the main one first, the others by bytes.  `first_process` is
// the process that was started.  A process that executes one program after the other counts in
// each.
//
// The main program is the one in which the first process allocated most.  If it allocated less than
// an eighth of the largest program's bytes, it was a wrapper, and the largest program is the main
// one.
std::vector<Program> Programs(const std::vector<recording::ProcessTotals>& processes,
                              uint32_t first_process);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_MAIN_PROGRAM_H_
