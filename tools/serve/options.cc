#include "tools/serve/options.h"

#include "tools/options/command_line.h"
#include "tools/options/values.h"

namespace allomon::serve {
namespace {

using options::Bad;

template <std::string Options::*kText>
absl::Status SetText(const std::string& value, Options* options) {
  if (value.empty()) return Bad("an option is empty; --help lists what they take");
  options->*kText = value;
  return absl::OkStatus();
}

absl::Status SetPid(const std::string& value, Options* options) {
  if (options::ParseNumber(value, &options->pid) && options->pid != 0 &&
      options->pid <= INT32_MAX) {
    return absl::OkStatus();
  }
  return options::BadValue("--pid", value, "the id of a process; allomon list shows them");
}

absl::Status SetRate(const std::string& value, Options* options) {
  return options::ParseRate(value, &options->rate.emplace());
}
absl::Status SetEvery(const std::string& value, Options* options) {
  return options::ParseEvery(value, &options->rate.emplace());
}

absl::Status AddWord(const std::string& word, Options*) {
  return Bad("\"" + word + "\": name a folder by --dir or a process by --pid");
}

constexpr options::Flag<Options> kFlags[] = {
    {"--exact", [](Options* options) { options->rate = 1; }},
    {"--all-children", [](Options* options) { options->all_children = true; }},
    {"--all-users", [](Options* options) { options->all_users = true; }},
    {"--help", [](Options* options) { options->help = true; }},
    {"-h", [](Options* options) { options->help = true; }}};
constexpr options::ValueOption<Options> kValues[] = {
    {"--listen", SetText<&Options::listen>},
    {"--dir", SetText<&Options::folder>},
    {"--pid", SetPid},
    {"--rate", SetRate},
    {"--every", SetEvery},
    {"--token", SetText<&Options::token>},
    {"--token-file", SetText<&Options::token_file>},
    {"--debug-dir", SetText<&Options::debug_dir>}};

absl::Status Check(const Options& options) {
  if (options.pid != 0 && !options.folder.empty()) return Bad("give --pid or --dir, not both");
  if (options.pid == 0 && options.all_children) return Bad("--all-children goes with --pid");
  if (options.pid != 0 && options.all_users) return Bad("--all-users goes with --dir");
  if (options.pid == 0 && options.rate) {
    return Bad(
        "--rate, --every and --exact go with --pid: recordings of a folder have their rates");
  }
  if (!options.token.empty() && !options.token_file.empty()) {
    return Bad("give --token or --token-file, not both");
  }
  return absl::OkStatus();
}

}  // namespace

const char kTokenVariable[] = "ALLOMON_TOKEN";

const char kUsage[] =
    "usage: allomon serve [--listen=ADDRESS:PORT] [--dir=DIR | --pid=PID] [options]\n"
    "  Serves the heaps of processes that run, by HTTP: to go tool pprof, to Prometheus, to\n"
    "  browsers.\n"
    "\n"
    "  --listen=ADDRESS:PORT  default 127.0.0.1:6060.  Port 0: any.  An address that others reach\n"
    "                    needs a token\n"
    "  --dir=DIR         all recordings of this folder.  Default: /dev/shm, where processes that\n"
    "                    allomon ctl has asked keep theirs\n"
    "  --all-users       with --dir: recordings that other users own, too\n"
    "  --pid=PID         those of one process, which is asked to record if it does not; what was\n"
    "                    begun ends with the server\n"
    "  --all-children    with --pid: of the processes that it has started, too\n"
    "  --rate=R, --every=BYTES, --exact\n"
    "                    with --pid: of the recording that is begun, as of allomon run\n"
    "  --token-file=FILE its first line is the token that clients must send, as\n"
    "                    \"Authorization: Bearer TOKEN\"; or the variable ALLOMON_TOKEN, or\n"
    "                    --token=TOKEN, which every user of the machine can read\n"
    "  --debug-dir=DIR   debug files are looked for there, too\n"
    "\n"
    "  /                 the flame graph as it is now; ?refresh=5 loads it again\n"
    "  /metrics          for Prometheus, by process and label\n"
    "  /debug/pprof/     for go tool pprof: heap, allocs, cmdline, symbol\n"
    "  Several processes add up; ?process=PID or ?process=NAME chooses.\n"
    "\n"
    "  Status 0: ended by SIGINT or SIGTERM; 2: bad input, and one line says which.\n"
    "  More: tools/serve/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  Options options;
  const options::Tables<Options> tables(kFlags, kValues, AddWord);
  absl::Status status = ParseCommandLine(args, tables, &options);
  if (status.ok() && !options.help) status = Check(options);
  if (!status.ok()) return status;
  return options;
}

}  // namespace allomon::serve
