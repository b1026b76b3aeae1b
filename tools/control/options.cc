#include "tools/control/options.h"

#include "tools/options/recording_options.h"
#include "tools/options/values.h"
#include "tools/report/report.h"

namespace allomon::control {
namespace {

using options::Bad;
using options::BadValue;
using options::ParseNumber;
using options::ParsePid;

absl::Status ParseSeconds(const char* name, const std::string& value, double* seconds) {
  constexpr double kMost = 1e6;
  if (ParseNumber(value, seconds) && *seconds >= 0 && *seconds <= kMost) return absl::OkStatus();
  return BadValue(name, value, "a number of seconds");
}

absl::Status NeedProcess(uint32_t pid) {
  return pid == 0 ? Bad("name a process by its id; allomon list shows them") : absl::OkStatus();
}

// The one word of a command about one process.
absl::Status AddProcess(const std::string& word, uint32_t* pid) {
  if (*pid != 0) return Bad("one process at a time: \"" + word + "\"");
  return ParsePid(word, pid);
}

// --- ctl

absl::Status SetCtlLimit(const std::string& value, CtlOptions* options) {
  return options::ParseLimit(value, &options->limit_bytes);
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
  if (options->verb == "rate" && !options->rate.samples_per_word) {
    return options::SetRate("rate", word, &options->rate);
  }
  return Bad("\"" + word + "\": expected allomon ctl PID start, stop, rate R or status");
}

absl::Status CheckCtl(const CtlOptions& options) {
  if (options.pid == 0) return Bad("name a process by its id; allomon list shows them");
  if (options.verb.empty()) return Bad("what to do? start, stop, rate R or status");
  if (options.verb == "rate" && !options.rate.samples_per_word) {
    return Bad("rate needs a number, such as 1e-3");
  }
  return options::CheckRate(options.rate);
}

options::CommandText DescribeCtl() {
  options::CommandText text;
  text.name = "ctl";
  text.summary = "ask a process that runs to begin or to end a recording";
  text.usages = {"PID start | stop | rate R | status [options]"};
  text.description = {
      "Asks a process that was started with ALLOMON_PROFILE=idle to record its heap."};
  text.words = options::Words::kProcess;
  text.terms = {{"start", "begins a recording"},
                {"stop", "ends it; its file stays, for allomon save"},
                {"rate R", "begins anew with another rate; 1 is every block"},
                {"status", "what it does, without asking it"}};
  text.statuses = {{"0", "done"}, {"1", "no answer yet"}, {"2", "bad input, or refused"}};
  text.examples = {{"allomon ctl 4711 start --every=512k", "records few blocks of a busy server"},
                   {"allomon ctl 4711 stop && allomon save 4711", "ends that, and names its file"}};
  text.manual = "tools/control/README.md";
  return text;
}

// --- list

absl::Status AddListWord(const std::string& word, ListOptions*) {
  return Bad("\"" + word + "\": allomon list takes no words");
}

options::CommandText DescribeList() {
  options::CommandText text;
  text.name = "list";
  text.summary = "show the processes that can be asked to record";
  text.usages = {"[--clean]"};
  text.description = {
      "Shows the processes that can be asked to record, and recordings in /dev/shm of processes "
      "that have ended; and profiles that were lost by processes which could not say so."};
  text.statuses = {{"0", "shown"}, {"2", "bad options, or a file cannot be removed"}};
  text.manual = "tools/control/README.md";
  return text;
}

// --- save

absl::Status SetSaveOut(const std::string& value, SaveOptions* options) {
  options->out = value;
  return value.empty() ? Bad("-o: \"\" is not the name of a file, or -") : absl::OkStatus();
}
absl::Status AddSaveWord(const std::string& word, SaveOptions* options) {
  return AddProcess(word, &options->pid);
}
absl::Status CheckSave(const SaveOptions& options) { return NeedProcess(options.pid); }

options::CommandText DescribeSave() {
  options::CommandText text;
  text.name = "save";
  text.summary = "write what a process that runs has recorded";
  text.usages = {"PID [-o FILE] [--all-children]"};
  text.description = {
      "Writes what a process has recorded so far, with names, as a pprof file.  The process may "
      "go on, or have ended."};
  text.words = options::Words::kProcess;
  text.statuses = {{"0", "written"}, {"2", "bad input, and one line says which"}};
  text.manual = "tools/control/README.md";
  return text;
}

// --- top

absl::Status SetTopEvery(const std::string& value, TopOptions* options) {
  return ParseSeconds("--every", value, &options->every_seconds);
}
absl::Status SetTopTimes(const std::string& value, TopOptions* options) {
  if (ParseNumber(value, &options->times)) return absl::OkStatus();
  return BadValue("-n", value, "a number of times");
}
absl::Status SetTopOnce(TopOptions* options) {
  options->times = 1;
  return absl::OkStatus();
}
absl::Status SetTopJson(TopOptions* options) {
  if (options->times == 0) options->times = 1;
  options->report.emplace_back("--json");
  return absl::OkStatus();
}
absl::Status AddTopWord(const std::string& word, TopOptions* options) {
  return AddProcess(word, &options->pid);
}
// What report would refuse is refused before a process is asked to record.
absl::Status CheckTop(const TopOptions& options) {
  const absl::Status status = NeedProcess(options.pid);
  if (!status.ok()) return status;
  return report::CheckReportOptions(options.report);
}

// An option of allomon report, which gets it.
options::Option<TopOptions> OfReport(const char* name, const char* preset = nullptr) {
  const options::OptionText* const option = options::FindOption(report::ReportText(), name);
  const auto pass_on = [name](const std::string& value, TopOptions* options) {
    options->report.push_back(std::string(name) + "=" + value);
    return absl::OkStatus();
  };
  if (preset == nullptr) preset = option->preset.c_str();
  return {name, option->argument, preset, option->text.c_str(), pass_on};
}

options::CommandText DescribeTop() {
  options::CommandText text;
  text.name = "top";
  text.summary = "show what a process that runs has live, again and again";
  text.usages = {"PID [options]"};
  text.description = {
      "Shows what a process has live, again and again.  If it does not record, it is asked to, "
      "and to stop at the end.  On a terminal, keys choose what is shown: ? lists them."};
  text.words = options::Words::kProcess;
  text.statuses = {{"0", "shown"}, {"2", "bad input, or the process does not answer"}};
  text.manual = "tools/control/README.md";
  return text;
}

constexpr char kAllChildren[] = "with what the processes have that it has started, as one sum";

}  // namespace

const options::Command<CtlOptions>& CtlCommand() {
  static const options::Command<CtlOptions> command(
      DescribeCtl(),
      {{"", options::RateOptions(&CtlOptions::rate) +
                std::vector<options::Option<CtlOptions>>{
                    {"--record", "FILE", "in /dev/shm",
                     "the recording, from the root folder; %p is the process id.", SetCtlPath},
                    {"--limit", "BYTES", "256m", "the most that file may hold.", SetCtlLimit},
                    {"--all-children", "the processes that it has started, too",
                     &CtlOptions::all_children},
                    {"--wait", "SECONDS", "10",
                     "for the answer.  A process answers when it allocates.", SetCtlWait}}}},
      AddCtlWord, CheckCtl);
  return command;
}

const options::Command<ListOptions>& ListCommand() {
  static const options::Command<ListOptions> command(
      DescribeList(),
      {{"",
        {{"--clean", "removes files of processes that have ended, and the word of what was lost",
          &ListOptions::clean}}}},
      AddListWord);
  return command;
}

const options::Command<SaveOptions>& SaveCommand() {
  static const options::Command<SaveOptions> command(
      DescribeSave(),
      {{"",
        {{"-o, --output", "FILE", "allomon.PID.pb.gz", "the profile; - is standard output.",
          SetSaveOut},
         {"--all-children", kAllChildren, &SaveOptions::all_children}}}},
      AddSaveWord, CheckSave);
  return command;
}

const options::Command<TopOptions>& TopCommand() {
  static const options::Command<TopOptions> command(
      DescribeTop(),
      {{"",
        {{"--every", "SECONDS", "2", "between two pictures.", SetTopEvery},
         {"-n", "TIMES", "until interrupted; once where standard output is no terminal",
          "how often.", SetTopTimes},
         {"--once", "short for -n 1", SetTopOnce},
         {"--json", "exact numbers for programs; once, if -n says nothing else", SetTopJson},
         {"--all-children", kAllChildren, &TopOptions::all_children}}},
       {"As of allomon report",
        {OfReport("--metric"), OfReport("--view"),
         OfReport("--top", "what fits the terminal, 20 elsewhere"), OfReport("--width"),
         OfReport("--focus"), OfReport("--ignore"), OfReport("--born")}}},
      AddTopWord, CheckTop);
  return command;
}

absl::StatusOr<CtlOptions> ParseCtlOptions(const std::vector<std::string>& args) {
  return CtlCommand().Parse(args);
}

absl::StatusOr<ListOptions> ParseListOptions(const std::vector<std::string>& args) {
  return ListCommand().Parse(args);
}

absl::StatusOr<SaveOptions> ParseSaveOptions(const std::vector<std::string>& args) {
  return SaveCommand().Parse(args);
}

absl::StatusOr<TopOptions> ParseTopOptions(const std::vector<std::string>& args) {
  return TopCommand().Parse(args);
}

}  // namespace allomon::control
