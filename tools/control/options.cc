#include "tools/control/options.h"

#include "tools/options/command_line.h"
#include "tools/options/values.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::control {
namespace {

using options::Bad;
using options::BadValue;
using options::ParseNumber;

absl::Status ParsePid(const std::string& text, uint32_t* pid) {
  if (ParseNumber(text, pid) && *pid != 0 && *pid <= INT32_MAX) return absl::OkStatus();
  return Bad("\"" + text + "\" is not the id of a process; allomon list shows them");
}

absl::Status ParseSeconds(const char* name, const std::string& value, double* seconds) {
  constexpr double kMost = 1e6;
  if (ParseNumber(value, seconds) && *seconds >= 0 && *seconds <= kMost) return absl::OkStatus();
  return BadValue(name, value, "a number of seconds");
}

template <typename Options>
void SetAllChildren(Options* options) {
  options->all_children = true;
}
template <typename Options>
void SetHelp(Options* options) {
  options->help = true;
}

template <typename Options>
absl::StatusOr<Options> Parse(const std::vector<std::string>& args,
                              const options::Tables<Options>& tables,
                              absl::Status (*check)(const Options& options)) {
  Options options;
  absl::Status status = ParseCommandLine(args, tables, &options);
  if (status.ok() && !options.help) status = check(options);
  if (!status.ok()) return status;
  return options;
}

// --- ctl

absl::Status SetCtlRate(const std::string& value, CtlOptions* options) {
  return options::ParseRate(value, &options->rate.emplace());
}
absl::Status SetCtlEvery(const std::string& value, CtlOptions* options) {
  return options::ParseEvery(value, &options->rate.emplace());
}
absl::Status SetCtlLimit(const std::string& value, CtlOptions* options) {
  if (options::ParseBytes(value, &options->limit_bytes) &&
      options->limit_bytes >= recording::kLeastLimitBytes &&
      options->limit_bytes <= recording::kMostLimitBytes) {
    return absl::OkStatus();
  }
  return BadValue("--limit", value, "a size from 1m to 16g, such as 256m");
}
// The process has another folder to begin relative paths in.
absl::Status SetCtlPath(const std::string& value, CtlOptions* options) {
  options->path = value;
  if (!value.empty() && value[0] == '/') return absl::OkStatus();
  return BadValue("--record", value, "a path from the root folder, such as /tmp/server.rec");
}
absl::Status SetCtlWait(const std::string& value, CtlOptions* options) {
  return ParseSeconds("--wait", value, &options->wait_seconds);
}

bool IsVerb(const std::string& word) {
  return word == "start" || word == "stop" || word == "rate" || word == "status";
}

absl::Status AddCtlWord(const std::string& word, CtlOptions* options) {
  if (options->pid == 0) return ParsePid(word, &options->pid);
  if (options->verb.empty() && IsVerb(word)) {
    options->verb = word;
    return absl::OkStatus();
  }
  if (options->verb == "rate" && !options->rate) return SetCtlRate(word, options);
  return Bad("\"" + word + "\": expected allomon ctl PID start, stop, rate R or status");
}

absl::Status CheckCtl(const CtlOptions& options) {
  if (options.pid == 0) return Bad("name a process by its id; allomon list shows them");
  if (options.verb.empty()) return Bad("what to do? start, stop, rate R or status");
  if (options.verb == "rate" && !options.rate) return Bad("rate needs a number, such as 1e-3");
  return absl::OkStatus();
}

constexpr options::Flag<CtlOptions> kCtlFlags[] = {
    {"--exact", [](CtlOptions* options) { options->rate = 1; }},
    {"--all-children", SetAllChildren<CtlOptions>},
    {"--help", SetHelp<CtlOptions>},
    {"-h", SetHelp<CtlOptions>}};
constexpr options::ValueOption<CtlOptions> kCtlValues[] = {{"--rate", SetCtlRate},
                                                           {"--every", SetCtlEvery},
                                                           {"--limit", SetCtlLimit},
                                                           {"--record", SetCtlPath},
                                                           {"--wait", SetCtlWait}};

// --- list

absl::Status AddListWord(const std::string& word, ListOptions*) {
  return Bad("\"" + word + "\": allomon list takes no words");
}
absl::Status CheckList(const ListOptions&) { return absl::OkStatus(); }
constexpr options::Flag<ListOptions> kListFlags[] = {
    {"--clean", [](ListOptions* options) { options->clean = true; }},
    {"--help", SetHelp<ListOptions>},
    {"-h", SetHelp<ListOptions>}};

// --- save

absl::Status SetSaveOut(const std::string& value, SaveOptions* options) {
  options->out = value;
  return value.empty() ? Bad("-o: \"\" is not the name of a file, or -") : absl::OkStatus();
}
absl::Status AddSaveWord(const std::string& word, SaveOptions* options) {
  if (options->pid != 0) return Bad("one process at a time: \"" + word + "\"");
  return ParsePid(word, &options->pid);
}
absl::Status CheckSave(const SaveOptions& options) {
  return options.pid == 0 ? Bad("name a process by its id; allomon list shows them")
                          : absl::OkStatus();
}
constexpr options::Flag<SaveOptions> kSaveFlags[] = {
    {"--all-children", SetAllChildren<SaveOptions>},
    {"--help", SetHelp<SaveOptions>},
    {"-h", SetHelp<SaveOptions>}};
constexpr options::ValueOption<SaveOptions> kSaveValues[] = {{"-o", SetSaveOut},
                                                             {"--output", SetSaveOut}};

// --- top

absl::Status SetTopEvery(const std::string& value, TopOptions* options) {
  return ParseSeconds("--every", value, &options->every_seconds);
}
absl::Status SetTopTimes(const std::string& value, TopOptions* options) {
  if (ParseNumber(value, &options->times)) return absl::OkStatus();
  return BadValue("-n", value, "a number of times");
}
template <int kOption>
absl::Status PassOn(const std::string& value, TopOptions* options) {
  constexpr const char* kNames[] = {"--metric", "--view", "--top", "--focus", "--ignore"};
  options->report.push_back(std::string(kNames[kOption]) + "=" + value);
  return absl::OkStatus();
}
absl::Status AddTopWord(const std::string& word, TopOptions* options) {
  if (options->pid != 0) return Bad("one process at a time: \"" + word + "\"");
  return ParsePid(word, &options->pid);
}
absl::Status CheckTop(const TopOptions& options) {
  return options.pid == 0 ? Bad("name a process by its id; allomon list shows them")
                          : absl::OkStatus();
}
constexpr options::Flag<TopOptions> kTopFlags[] = {{"--all-children", SetAllChildren<TopOptions>},
                                                   {"--help", SetHelp<TopOptions>},
                                                   {"-h", SetHelp<TopOptions>}};
constexpr options::ValueOption<TopOptions> kTopValues[] = {
    {"--every", SetTopEvery}, {"-n", SetTopTimes},  {"--metric", PassOn<0>},
    {"--view", PassOn<1>},    {"--top", PassOn<2>}, {"--focus", PassOn<3>},
    {"--ignore", PassOn<4>}};

}  // namespace

const char kCtlUsage[] =
    "usage: allomon ctl PID start | stop | rate R | status [options]\n"
    "  Asks a process that was started with ALLOMON_PROFILE=idle to record its heap.\n"
    "\n"
    "  start           begins a recording\n"
    "  stop            ends it; its file stays, for allomon save\n"
    "  rate R          begins anew with another rate; 1 is every block\n"
    "  status          what it does, without asking it\n"
    "\n"
    "  --rate=R        samples per word of 8 bytes, above 0 and at most 1\n"
    "  --every=BYTES   the same, as bytes for each sample\n"
    "  --exact         every block (--rate=1); slow\n"
    "  --record=FILE   the recording, from the root folder; %p is the process id.  Default: in\n"
    "                  /dev/shm\n"
    "  --limit=BYTES   of that file; default 256m\n"
    "  --all-children  the processes that it has started, too\n"
    "  --wait=SECONDS  for the answer; default 10.  A process answers when it allocates\n"
    "\n"
    "  Status 0: done; 1: no answer yet; 2: bad input, or refused.\n"
    "  How it works: tools/control/README.md\n";

const char kListUsage[] =
    "usage: allomon list [--clean]\n"
    "  Shows the processes that can be asked to record, and recordings in /dev/shm of processes\n"
    "  that have ended; and profiles that were lost by processes which could not say so.\n"
    "\n"
    "  --clean         removes files of processes that have ended, and the word of what was lost\n";

const char kSaveUsage[] =
    "usage: allomon save PID [-o FILE] [--all-children]\n"
    "  Writes what a process has recorded so far, with names, as a pprof file.  The process may\n"
    "  go on, or have ended.\n"
    "\n"
    "  -o, --output=FILE  default allomon.PID.pb.gz; - is standard output\n"
    "  --all-children     with what the processes have recorded that it has started, as one sum\n";

const char kTopUsage[] =
    "usage: allomon top PID [options]\n"
    "  Shows what a process has live, again and again.  If it does not record, it is asked to, "
    "and\n"
    "  to stop at the end.\n"
    "\n"
    "  --every=SECONDS  default 2\n"
    "  -n TIMES         default: until interrupted; once where standard output is no terminal\n"
    "  --all-children   with the processes that it has started, as one sum\n"
    "  --metric, --view, --top, --focus, --ignore: as of allomon report\n";

absl::StatusOr<CtlOptions> ParseCtlOptions(const std::vector<std::string>& args) {
  return Parse(args, options::Tables<CtlOptions>(kCtlFlags, kCtlValues, AddCtlWord), CheckCtl);
}

absl::StatusOr<ListOptions> ParseListOptions(const std::vector<std::string>& args) {
  return Parse(args, options::Tables<ListOptions>(kListFlags, AddListWord), CheckList);
}

absl::StatusOr<SaveOptions> ParseSaveOptions(const std::vector<std::string>& args) {
  return Parse(args, options::Tables<SaveOptions>(kSaveFlags, kSaveValues, AddSaveWord), CheckSave);
}

absl::StatusOr<TopOptions> ParseTopOptions(const std::vector<std::string>& args) {
  return Parse(args, options::Tables<TopOptions>(kTopFlags, kTopValues, AddTopWord), CheckTop);
}

}  // namespace allomon::control
