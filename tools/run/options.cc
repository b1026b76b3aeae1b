#include "tools/run/options.h"

#include <cstdio>

#include "tools/options/command_line.h"
#include "tools/options/values.h"
#include "tracker/formats/recording_segments.h"

namespace allomon::run {
namespace {

using options::Bad;
using options::BadValue;
using options::ParseBytes;
using options::ParseNumber;

constexpr uint64_t kMostGuardGap = 1'000'000;

// One of three options sets the rate.
void NoteRateOption(const char* name, Options* options) {
  if (options->rate_option.empty()) options->rate_option = name;
  if (options->rate_option != name) options->second_rate_option = name;
}

// The library takes the rate as text, and gets the user's own.
absl::Status SetRate(const std::string& value, Options* options) {
  NoteRateOption("--rate", options);
  double rate = 0;
  const absl::Status status = options::ParseRate(value, &rate);
  if (status.ok()) options->rate = value;
  return status;
}

absl::Status SetEvery(const std::string& value, Options* options) {
  NoteRateOption("--every", options);
  double rate = 0;
  const absl::Status status = options::ParseEvery(value, &rate);
  char text[32];
  snprintf(text, sizeof text, "%.17g", rate);
  if (status.ok()) options->rate = text;
  return status;
}

absl::Status SetExact(Options* options) {
  NoteRateOption("--exact", options);
  options->rate = "1";
  return absl::OkStatus();
}

absl::Status SetSeed(const std::string& value, Options* options) {
  uint64_t seed = 0;
  if (!ParseNumber(value, &seed)) return BadValue("--seed", value, "a number of at most 64 bits");
  options->seed = value;
  return absl::OkStatus();
}

absl::Status SetGuard(const std::string& value, Options* options) {
  uint64_t one_in = 0;
  if (!ParseNumber(value, &one_in) || one_in < 1 || one_in > kMostGuardGap) {
    return BadValue("--guard", value, "a number from 1 to 1000000: one of so many samples");
  }
  options->guard_one_in = static_cast<uint32_t>(one_in);
  return absl::OkStatus();
}

absl::Status SetLimit(const std::string& value, Options* options) {
  uint64_t bytes = 0;
  if (!ParseBytes(value, &bytes) || bytes < recording::kLeastLimitBytes ||
      bytes > recording::kMostReadBytes) {
    const std::string most = std::to_string(recording::kMostReadBytes >> 30) + "g";
    return BadValue("--limit", value, "a size from 1m to " + most + ", such as 256m");
  }
  options->limit_bytes = bytes / recording::kSegmentBytes * recording::kSegmentBytes;
  return absl::OkStatus();
}

absl::Status SetOut(const std::string& value, Options* options) {
  if (value.empty() || value == "-") {
    return BadValue("-o", value, "the name of a file, such as out.pb.gz or /dev/stdout");
  }
  options->out = value;
  return absl::OkStatus();
}

absl::Status AddWord(const std::string& word, Options* options) {
  options->command.push_back(word);
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  if (!options.second_rate_option.empty()) {
    return Bad(options.rate_option + " and " + options.second_rate_option + ": choose one");
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
                   {"2", "bad options, or nothing could be prepared"},
                   {"126, 127", "PROGRAM cannot be executed, or is not there"}};
  text.examples = {{"allomon run -- ./server --port=80", "writes allomon.server.PID.pb.gz"},
                   {"allomon run --exact -o ls.pb.gz ls", "records every block of ls"}};
  text.manual = "tools/run/README.md";
  return text;
}

}  // namespace

const options::Command<Options>& RunCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"-o, --out", "FILE", "allomon.PROGRAM.PID.pb.gz",
          "the profile.  Other programs that it starts get a file beside it, with their name in "
          "it.",
          SetOut},
         {"--rate", "R", "1e-4", "samples per word of 8 bytes, above 0 and at most 1.", SetRate},
         {"--every", "BYTES", "80000", "the same, as bytes for each sample (suffixes k, m, g).",
          SetEvery},
         {"--exact", "every block (--rate=1); slow", SetExact},
         {"--keep-malloc",
          "PROGRAM keeps its own malloc (glibc's, jemalloc, tcmalloc); else mimalloc takes its "
          "place",
          &Options::keeps_malloc},
         {"--no-children", "only the process that PROGRAM begins in", &Options::no_children},
         {"--guard", "N", "", "finds overflows and uses after free in one of N samples", SetGuard},
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
