#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tools/control/control.h"
#include "tools/control/conversation.h"
#include "tools/control/leftovers.h"
#include "tools/control/options.h"
#include "tools/options/documents.h"
#include "tools/process/places.h"

namespace allomon::control {
namespace {

constexpr char kCommand[] = "list";

std::string RunningLines() {
  std::string lines;
  for (const uint32_t pid : process::AllIds()) {
    const auto client = PageClient::Open(pid);
    if (!client.ok()) continue;
    const auto state = (*client)->Read();
    if (state.ok()) lines += LineOf(kCommand, Describe(**client, *state));
  }
  return lines;
}

// Removes a file, or finds that another command has.  Returns the start of a line.
std::string Remove(const std::string& path, int* status) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return "removed ";
  *status = 2;
  return "cannot remove ";
}

std::string LeftoverLine(const Leftover& leftover, bool clean, int* status) {
  const std::string of =
      leftover.path + " of process " + std::to_string(leftover.pid) + ", which has ended";
  if (!clean)
    return LineOf(kCommand, of + (leftover.is_recording ? ": allomon report shows it" : ""));
  return LineOf(kCommand, Remove(leftover.path, status) + of);
}

std::string LossLines(bool clean, int* status) {
  std::string lines;
  for (const FoundLossNote& note : LossNotes()) {
    if (!note.line.empty()) lines += LineOf(kCommand, note.line);
    if (!clean) continue;
    lines += LineOf(kCommand, Remove(note.path, status) + note.path);
  }
  return lines;
}

}  // namespace

const options::CommandText& ListText() { return ListCommand().Text(); }

CommandResult RunList(const std::vector<std::string>& args) {
  const auto options = ParseListOptions(args);
  if (!options.ok()) return Failed(kCommand, options.status());
  const auto answer = options::AnswerTo(*options, ListCommand().Text());
  if (answer.has_value()) return *answer;
  CommandResult result;
  result.out = RunningLines();
  for (const Leftover& leftover : Leftovers()) {
    // A control page that is left over has no information for a person.
    if (options->clean || leftover.is_recording) {
      result.out += LeftoverLine(leftover, options->clean, &result.status);
    }
  }
  result.out += LossLines(options->clean, &result.status);
  if (result.out.empty()) {
    result.err = LineOf(kCommand,
                        "no process can be asked to record; start one with ALLOMON_PROFILE=idle "
                        "and LD_PRELOAD=.../liballomon.so");
  }
  return result;
}

}  // namespace allomon::control
