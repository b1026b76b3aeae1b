#include "tools/run/options.h"

#include <charconv>
#include <cstdio>
#include <string_view>

#include "tracker/formats/recording_segments.h"

namespace allomon::run {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kMostBetweenSamples = uint64_t{1} << 50;
constexpr uint64_t kMostGuardGap = 1'000'000;

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status BadValue(const char* name, const std::string& value,
                      const std::string& allowed) {
  return Bad(std::string(name) + ": \"" + value + "\" is not " + allowed);
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// The power of two that a suffix stands for; 0 without one.
int SuffixShift(std::string_view text) {
  if (text.empty()) return 0;
  switch (text.back()) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    default:
      return 0;
  }
}

// A number of bytes, perhaps with a suffix.
bool ParseBytes(std::string_view text, uint64_t* bytes) {
  const int shift = SuffixShift(text);
  if (shift != 0) text.remove_suffix(1);
  if (!ParseNumber(text, bytes) || *bytes > UINT64_MAX >> shift) return false;
  *bytes <<= shift;
  return true;
}

absl::Status SetRate(const std::string& value, Options* options) {
  double rate = 0;
  if (!ParseNumber(value, &rate) || !(rate > 0 && rate <= 1)) {
    return BadValue("--rate", value, "a number of samples per word, above 0 and at most 1");
  }
  options->rate = value;
  return absl::OkStatus();
}

absl::Status SetEvery(const std::string& value, Options* options) {
  uint64_t bytes = 0;
  if (!ParseBytes(value, &bytes) || bytes < kWordBytes || bytes > kMostBetweenSamples) {
    return BadValue("--every", value, "a number of bytes from 8 on, such as 80000 or 512k");
  }
  char rate[32];
  snprintf(rate, sizeof rate, "%.17g", double{kWordBytes} / static_cast<double>(bytes));
  options->rate = rate;
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

struct ValueOption {
  std::string_view name;
  absl::Status (*set)(const std::string& value, Options* options);
};
constexpr ValueOption kValueOptions[] = {
    {"--rate", SetRate},   {"--every", SetEvery}, {"--seed", SetSeed}, {"--guard", SetGuard},
    {"--limit", SetLimit}, {"-o", SetOut},        {"--out", SetOut}};

bool IsRate(std::string_view name) {
  return name == "--rate" || name == "--every" || name == "--exact";
}

// Sets an option that takes no value.  False if `name` is not one.
bool SetFlag(std::string_view name, Options* options) {
  if (name == "--exact") {
    options->rate = "1";
  } else if (name == "--no-children") {
    options->children = false;
  } else if (name == "--quiet" || name == "-q") {
    options->quiet = true;
  } else if (name == "--help" || name == "-h") {
    options->help = true;
  } else if (name == "--version") {
    options->version = true;
  } else {
    return false;
  }
  return true;
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& args) : args_(args) {}

  absl::StatusOr<Options> Parse() {
    while (at_ < args_.size() && args_[at_].size() > 1 && args_[at_][0] == '-') {
      const std::string& arg = args_[at_++];
      if (arg == "--") break;
      const absl::Status status = SetOption(arg);
      if (!status.ok()) return status;
    }
    options_.command.assign(args_.begin() + static_cast<ptrdiff_t>(at_), args_.end());
    return Checked();
  }

 private:
  absl::StatusOr<Options> Checked() const {
    if (options_.help || options_.version) return options_;
    if (options_.command.empty()) {
      return Bad("no program to run; allomon run -- PROGRAM ARGUMENTS, and --help says more");
    }
    if (options_.command[0].empty()) return Bad("the program's name is empty");
    return options_;
  }

  absl::Status SetOption(const std::string& arg) {
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    if (IsRate(name)) {
      if (!rate_name_.empty() && rate_name_ != name) {
        return Bad(rate_name_ + " and " + name + ": choose one");
      }
      rate_name_ = name;
    }
    if (SetFlag(arg, &options_)) return absl::OkStatus();
    for (const ValueOption& option : kValueOptions) {
      if (option.name != name) continue;
      if (equals != std::string::npos) return option.set(arg.substr(equals + 1), &options_);
      if (at_ == args_.size()) return Bad(name + " needs a value");
      return option.set(args_[at_++], &options_);
    }
    return Bad("unknown option " + arg + "; --help lists them");
  }

  const std::vector<std::string>& args_;
  size_t at_ = 0;
  std::string rate_name_;  // the option that has set the rate
  Options options_;
};

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
  return Parser(args).Parse();
}

}  // namespace allomon::run
