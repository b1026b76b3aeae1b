#include "tools/run/options.h"

#include "tools/options/command_line.h"
#include "tools/options/recording_options.h"
#include "tools/options/values.h"

namespace allomon::run {
namespace {

using options::Bad;
using options::BadValue;
using options::ParseNumber;

constexpr uint64_t kMostGap = 1'000'000;

absl::Status SetSeed(const std::string& value, Options* options) {
  uint64_t seed = 0;
  if (!ParseNumber(value, &seed)) return BadValue("--seed", value, "a number of at most 64 bits");
  options->seed = value;
  return absl::OkStatus();
}

absl::Status SetGuard(const std::string& value, Options* options) {
  uint64_t one_in = 0;
  if (!ParseNumber(value, &one_in) || one_in < 1 || one_in > kMostGap) {
    return BadValue("--guard", value, "a number from 1 to 1000000: one of so many samples");
  }
  options->guard_one_in = static_cast<uint32_t>(one_in);
  return absl::OkStatus();
}

absl::Status SetInPlace(const std::string& value, Options* options) {
  uint64_t one_in = 0;
  if (value.substr(0, 2) != "1/" || !ParseNumber(value.substr(2), &one_in) || one_in < 1 ||
      one_in > kMostGap) {
    return BadValue("--in-place", value, "1/N with N from 1 to 1000000: one of so many samples");
  }
  options->in_place_one_in = static_cast<uint32_t>(one_in);
  return absl::OkStatus();
}

absl::Status SetLeaks(const std::string& value, Options* options) {
  if (value != "error" && value != "report") {
    return BadValue("--leaks", value, "error (the run fails) or report (it does not)");
  }
  options->leaks = value == "error" ? LeakCheck::kError : LeakCheck::kReport;
  return absl::OkStatus();
}

absl::Status SetLimit(const std::string& value, Options* options) {
  return options::ParseLimit(value, &options->limit_bytes);
}

absl::Status SetOut(const std::string& value, Options* options) {
  if (value.empty() || value == "-") {
    return BadValue("-o", value, "the name of a file, such as out.pb.gz or /dev/stdout");
  }
  options->out = value;
  return absl::OkStatus();
}

using List = std::vector<options::Option<Options>>;

absl::Status AddWord(const std::string& word, Options* options) {
  options->command.push_back(word);
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  if (const absl::Status status = options::CheckRate(options.rate); !status.ok()) return status;
  if (options.leaks == LeakCheck::kNone && !options.suppressions.empty()) {
    return Bad("--suppressions is for --leaks=error: give both");
  }
  if (options.leaks != LeakCheck::kNone && options.keeps_malloc) {
    return Bad(
        "--leaks and --keep-malloc: the search needs the blocks of mimalloc; give one of "
        "them");
  }
  if (options.command.empty()) {
    return Bad("no program to run; allomon run -- PROGRAM ARGUMENTS, and --help says more");
  }
  return options.command[0].empty() ? Bad("the program's name is empty") : absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "run";
  text.summary = "record what a program and its children allocate";
  text.usages = {"[options] [--] PROGRAM [ARGUMENT ...]"};
  text.description = {
      "Runs PROGRAM and records what it and its children allocate, with whole call stacks.  At "
      "its end there is a file for `allomon report`, `allomon flame` and `go tool pprof`.  The "
      "exit status is the program's."};
  text.words = options::Words::kProgram;
  text.statuses = {{"0 to 255", "the program's, or 128 + the signal that ended it"},
                   {"23", "blocks were lost with --leaks=error, and the program's was 0"},
                   {"2", "bad options, or nothing could be prepared"},
                   {"126, 127", "PROGRAM cannot be executed, or is not there"}};
  text.examples = {{"allomon run -- ./server --port=80", "writes allomon.server.PID.pb.gz"},
                   {"allomon run --exact -o ls.pb.gz ls", "records every block of ls"},
                   {"allomon run --leaks=error -- ./test", "fails if ./test loses a block"}};
  text.manual = "tools/run/README.md";
  return text;
}

}  // namespace

const options::Command<Options>& RunCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        List{{"-o, --out", "FILE", "allomon.PROGRAM.PID.pb.gz",
              "the profile.  Other programs that it starts get a file beside it, with their name "
              "in it.",
              SetOut}} +
            options::RateOptions(&Options::rate, "1e-4", "80000") +
            List{
                {"--keep-malloc",
                 "PROGRAM keeps its own malloc (glibc's, jemalloc, tcmalloc); else mimalloc takes "
                 "its "
                 "place",
                 &Options::keeps_malloc},
                {"--no-children", "only the process that PROGRAM begins in", &Options::no_children},
                {"--guard", "N", "", "finds overflows and uses after free in one of N samples",
                 SetGuard},
                {"--in-place", "1/N", "", "leaves one of N samples on the page of its neighbours",
                 SetInPlace},
                {"--leaks", "error|report", "",
                 "when a process exits, shows its blocks to which nothing refers; with error the "
                 "run fails.  Every block is recorded unless a rate is given.",
                 SetLeaks},
                {"--suppressions", "FILE", "",
                 "with --leaks: without stacks that its lines leak:TEXT name; again for more files",
                 [](const std::string& value, Options* options) {
                   options->suppressions.push_back(value);
                   return absl::OkStatus();
                 }},
                {"--limit", "BYTES", "256m", "memory for the recording.", SetLimit},
                {"--seed", "N", "", "draws the same samples again", SetSeed},
                {"-q, --quiet", "neither progress nor totals; errors are said", &Options::quiet}}}},
      AddWord, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return RunCommand().Parse(args);
}

}  // namespace allomon::run
