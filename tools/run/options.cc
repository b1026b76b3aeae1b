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

void SetExact(Options* options) {
  NoteRateOption("--exact", options);
  options->rate = "1";
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

constexpr options::ValueOption<Options> kValueOptions[] = {
    {"--rate", SetRate},   {"--every", SetEvery}, {"--seed", SetSeed}, {"--guard", SetGuard},
    {"--limit", SetLimit}, {"-o", SetOut},        {"--out", SetOut}};

constexpr options::Flag<Options> kFlags[] = {
    {"--exact", SetExact},
    {"--keep-malloc", [](Options* options) { options->keeps_malloc = true; }},
    {"--no-children", [](Options* options) { options->children = false; }},
    {"--quiet", [](Options* options) { options->quiet = true; }},
    {"-q", [](Options* options) { options->quiet = true; }},
    {"--help", [](Options* options) { options->help = true; }},
    {"-h", [](Options* options) { options->help = true; }},
    {"--version", [](Options* options) { options->version = true; }},
};

absl::Status Check(const Options& options) {
  if (!options.second_rate_option.empty()) {
    return Bad(options.rate_option + " and " + options.second_rate_option + ": choose one");
  }
  if (options.help || options.version) return absl::OkStatus();
  if (options.command.empty()) {
    return Bad("no program to run; allomon run -- PROGRAM ARGUMENTS, and --help says more");
  }
  return options.command[0].empty() ? Bad("the program's name is empty") : absl::OkStatus();
}

}  // namespace

const char kUsage[] =
    "usage: allomon run [options] [--] PROGRAM [ARGUMENT ...]\n"
    "  Runs PROGRAM and records what it and its children allocate, with whole call stacks.\n"
    "  At its end there is a file for `allomon report`, `allomon flame` and `go tool pprof`.\n"
    "  The exit status is the program's.\n"
    "\n"
    "  -o FILE         default allomon.PROGRAM.PID.pb.gz.  Other programs that it starts get a\n"
    "                  file beside it, with their name in it\n"
    "  --rate=R        samples per word of 8 bytes, above 0 and at most 1; default 1e-4\n"
    "  --every=BYTES   the same, as bytes for each sample (suffixes k, m, g); default 80000\n"
    "  --exact         every block (--rate=1); slow\n"
    "  --keep-malloc   PROGRAM keeps its own malloc (glibc's, jemalloc, tcmalloc); else mimalloc\n"
    "                  takes its place\n"
    "  --no-children   only the process that PROGRAM begins in\n"
    "  --guard=N       finds overflows and uses after free in one of N samples\n"
    "  --limit=BYTES   of memory for the recording; default 256m\n"
    "  --seed=N        draws the same samples again\n"
    "  -q, --quiet     neither progress nor totals; errors are said\n"
    "\n"
    "  Status: the program's, or 128 + the signal that ended it; 2: bad options, or nothing could\n"
    "  be prepared; 126, 127: PROGRAM cannot be executed, or is not there.\n"
    "  What is written, and how: tools/run/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  Options options;
  absl::Status status =
      ParseCommandLine(args, options::Tables<Options>(kFlags, kValueOptions, AddWord), &options,
                       options::Order::kBeforeWords);
  if (status.ok()) status = Check(options);
  if (!status.ok()) return status;
  return options;
}

}  // namespace allomon::run
