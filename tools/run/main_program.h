// Which of the programs of a recording is the one that people mean: not `timeout` or a shell, but
// what those start.
#ifndef ALLOMON_TOOLS_RUN_MAIN_PROGRAM_H_
#define ALLOMON_TOOLS_RUN_MAIN_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::run {

// All processes of one executable.
struct Program {
  std::string path;
  double allocated_bytes = 0;
  uint64_t samples = 0;
  int processes = 0;
  bool is_main = false;
};

// The programs of a recording, the main one first, the others by their bytes.  `first_process` is
// the one that was started; a process that executes one program after the other is in several.
//
// The main program is that of the first process, which allocated most there.  If it allocated less
// than an eighth of what another program did, it was a wrapper, and the main program is the one
// that allocated most of all.
std::vector<Program> Programs(const std::vector<recording::ProcessTotals>& processes,
                              uint32_t first_process);

// The last part of a path.
std::string NameOf(const std::string& path);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_MAIN_PROGRAM_H_
