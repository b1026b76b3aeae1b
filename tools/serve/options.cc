#include "tools/serve/options.h"

#include "tools/load/profile_options.h"
#include "tools/options/values.h"

namespace allomon::serve {
namespace {

using options::Bad;

absl::Status SetPid(const std::string& value, Options* options) {
  if (options::ParseNumber(value, &options->pid) && options->pid != 0 &&
      options->pid <= INT32_MAX) {
    return absl::OkStatus();
  }
  return options::BadValue("--pid", value, "the id of a process; allomon list shows them");
}

absl::Status AddWord(const std::string& word, Options*) {
  return Bad("\"" + word + "\": name a folder by --dir or a process by --pid");
}

absl::Status Check(const Options& options) {
  if (options.pid != 0 && !options.folder.empty()) return Bad("give --pid or --dir, not both");
  if (options.pid == 0 && options.all_children) return Bad("--all-children goes with --pid");
  if (options.pid != 0 && options.all_users) return Bad("--all-users goes with --dir");
  if (options.pid == 0 && options.rate.samples_per_word) {
    return Bad(
        "--rate, --every and --exact go with --pid: recordings of a folder have their rates");
  }
  if (!options.token.empty() && !options.token_file.empty()) {
    return Bad("give --token or --token-file, not both");
  }
  return options::CheckRate(options.rate);
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "serve";
  text.summary = "serve heaps to go tool pprof, Prometheus and browsers";
  text.usages = {"[--listen=ADDRESS:PORT] [--dir=DIR | --pid=PID] [options]"};
  text.description = {
      "Serves the heaps of processes that run, by HTTP: to go tool pprof, to Prometheus, to "
      "browsers.  Several processes add up; ?process=PID or ?process=NAME chooses."};
  text.terms = {{"/", "the flame graph as it is now; ?refresh=5 loads it again"},
                {"/metrics", "for Prometheus, by process and label"},
                {"/debug/pprof/", "for go tool pprof: heap, allocs, cmdline, symbol"}};
  text.statuses = {{"0", "ended by SIGINT or SIGTERM"},
                   {"2", "bad input, and one line says which"}};
  text.examples = {{"allomon serve --pid=4711", "records process 4711 and shows it at port 6060"}};
  text.manual = "tools/serve/README.md";
  return text;
}

}  // namespace

const char kTokenVariable[] = "ALLOMON_TOKEN";

const options::Command<Options>& ServeCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--listen", "ADDRESS:PORT", "127.0.0.1:6060",
          "Port 0: any.  An address that others reach needs a token.", &Options::listen},
         {"--dir", "DIR", "/dev/shm, where processes that allomon ctl has asked keep theirs",
          "all recordings of this folder.", &Options::folder},
         {"--all-users", "with --dir: recordings that other users own, too", &Options::all_users},
         {"--pid", "PID", "",
          "those of one process, which is asked to record if it does not; what was begun ends "
          "with the server",
          SetPid},
         {"--all-children", "with --pid: of the processes that it has started, too",
          &Options::all_children}}},
       {"Of a recording that --pid begins", options::RateOptions(&Options::rate)},
       {"",
        {{"--token-file", "FILE", "",
          "its first line is the token that clients must send, as \"Authorization: Bearer "
          "TOKEN\"; or the variable ALLOMON_TOKEN",
          &Options::token_file},
         {"--token", "TOKEN", "", "the token, which every user of the machine can read",
          &Options::token},
         load::DebugDirOption(&Options::debug_dir)}}},
      AddWord, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return ServeCommand().Parse(args);
}

}  // namespace allomon::serve
