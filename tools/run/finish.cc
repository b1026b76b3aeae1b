#include "tools/run/finish.h"

#include <cstdio>

#include "tools/report/terminal.h"
#include "tools/run/main_program.h"
#include "tools/run/output_file.h"
#include "tools/run/why_unrecorded.h"
#include "tools/run/words.h"
#include "tracker/formats/recording_bytes.h"

namespace allomon::run {
namespace {

void Say(const std::string& line) {
  const std::string text = Printable(line, report::ThisTerminal().charset);
  fprintf(stderr, "allomon run: %s\n", text.c_str());
}

}  // namespace

void Finish(const Options& options, const MemoryFile& memory, pid_t first_process,
            const Signals&) {
  const std::string_view used = memory.Used();
  std::vector<recording::ProcessTotals> processes;
  std::string error;
  ReadTotals(recording::MemoryBytes(used.data(), used.size()), &processes, &error);
  if (processes.empty()) {
    const std::string path = PathOfCommand(options.command[0]);
    Say("nothing was recorded: " + path + " " + WhyUnrecorded(path));
    return;
  }
  for (const Program& program : Programs(processes, static_cast<uint32_t>(first_process))) {
    Say(NameOf(program.path) + ": " + Bytes(static_cast<double>(program.allocated_bytes)));
  }
}

}  // namespace allomon::run
