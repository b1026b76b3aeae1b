#include "tools/report/flat/options.h"

#include <charconv>
#include <string_view>

namespace allomon::report {
namespace {

constexpr int kMostColumns = 10000;

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status BadValue(const std::string& name, const std::string& value, const char* allowed) {
  return Bad(name + ": \"" + value + "\" is not " + allowed);
}

bool ParseNumber(const std::string& text, size_t* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// The value that belongs to `text` in a list of words.
template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

template <typename Value, size_t kSize>
bool Choose(const Choice<Value> (&choices)[kSize], const std::string& text, Value* value) {
  for (const auto& choice : choices) {
    if (choice.word != text) continue;
    *value = choice.value;
    return true;
  }
  return false;
}

constexpr Choice<SortKey> kSortKeys[] = {{"cur", SortKey::kCurrent},
                                         {"stack", SortKey::kStack},
                                         {"gc", SortKey::kGc},
                                         {"name", SortKey::kName}};
constexpr Choice<Color> kColors[] = {
    {"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}};

absl::Status SetSort(const std::string& value, Options* options) {
  SortKey key = SortKey::kCurrent;
  if (Choose(kSortKeys, value, &key)) {
    options->sort = key;
    return absl::OkStatus();
  }
  return BadValue("--sort", value, "cur, stack, gc or name");
}

absl::Status SetColor(const std::string& value, Options* options) {
  if (Choose(kColors, value, &options->color)) return absl::OkStatus();
  return BadValue("--color", value, "auto, always or never");
}

absl::Status SetTop(const std::string& value, Options* options) {
  size_t top = 0;
  if (!ParseNumber(value, &top)) return BadValue("--top", value, "a number of rows (0: all)");
  options->top = top;
  return absl::OkStatus();
}

absl::Status SetWidth(const std::string& value, Options* options) {
  size_t width = 0;
  if (!ParseNumber(value, &width) || width > kMostColumns) {
    return BadValue("--width", value, "a number of columns (0: as many as it takes)");
  }
  options->width = static_cast<int>(width);
  return absl::OkStatus();
}

absl::Status SetPicture(const std::string& value, Options* options) {
  if (value.empty()) return BadValue("--picture", value, "the name of a file, such as out.svg");
  options->picture = value;
  return absl::OkStatus();
}

absl::Status SetDebugDir(const std::string& value, Options* options) {
  if (value.empty() || value[0] != '/') {
    return BadValue("--debug-dir", value, "a folder such as /sysroot/usr/lib/debug");
  }
  options->debug_dir = value;
  return absl::OkStatus();
}

struct ValueOption {
  std::string_view name;
  absl::Status (*set)(const std::string& value, Options* options);
};
constexpr ValueOption kValueOptions[] = {{"--sort", SetSort},       {"--top", SetTop},
                                         {"--width", SetWidth},     {"--color", SetColor},
                                         {"--picture", SetPicture}, {"--debug-dir", SetDebugDir}};

absl::Status SetFormat(Format format, Options* options) {
  if (options->format != Format::kTable && options->format != format) {
    return Bad("--json and --csv: choose one");
  }
  options->format = format;
  return absl::OkStatus();
}

// Sets an option that takes no value.  False if `name` is not one.
bool SetFlag(std::string_view name, Options* options, absl::Status* status) {
  if (name == "--json" || name == "--csv") {
    *status = SetFormat(name == "--json" ? Format::kJson : Format::kCsv, options);
  } else if (name == "--diff") {
    options->diff = true;
  } else if (name == "--help" || name == "-h") {
    options->help = true;
  } else {
    return false;
  }
  return true;
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& args) : args_(args) {}

  absl::StatusOr<Options> Parse() {
    while (at_ < args_.size()) {
      const std::string& arg = args_[at_++];
      if (arg == "--") {
        options_.files.insert(options_.files.end(), args_.begin() + at_, args_.end());
        break;
      }
      const absl::Status status = arg.size() > 1 && arg[0] == '-' ? SetOption(arg) : AddFile(arg);
      if (!status.ok()) return status;
    }
    return options_;
  }

 private:
  absl::Status AddFile(const std::string& name) {
    options_.files.push_back(name);
    return absl::OkStatus();
  }

  absl::Status SetOption(const std::string& arg) {
    absl::Status status;
    if (SetFlag(arg, &options_, &status)) return status;
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
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
  Options options_;
};

}  // namespace

const char kUsage[] =
    "usage: allomon report [options] [PROGRAM] [mlmon.out ...]\n"
    "       allomon report --diff [options] [PROGRAM ...] BEFORE AFTER\n"
    "  Shows what each function allocated, how long it ran or how often it was called; several\n"
    "  profiles add up.  PROGRAM is what was profiled, or its mlmon.out.sources; without it the\n"
    "  file beside the profile, then a program there that knows the profile's functions.\n"
    "  Without a profile: mlmon.out.\n"
    "\n"
    "  --sort=cur|stack|gc|name  by what functions used themselves, with what they called, by\n"
    "                            the collector meanwhile; or by name.  Default stack if the\n"
    "                            profile has it, with main and what starts it at the end\n"
    "  --top=N                   rows; 0: all.  Default what fits the terminal, 20 elsewhere;\n"
    "                            of --json, --csv: all\n"
    "  --diff                    growth of each function from one profile to another\n"
    "  --json, --csv             for programs; exact numbers in the profile's units\n"
    "  --picture=FILE            also an SVG picture: areas by what functions used, and bars\n"
    "  --color=auto|always|never auto: on a terminal, unless NO_COLOR is set\n"
    "  --width=N                 columns; 0: as many as it takes, and whole names.  Default the\n"
    "                            terminal's, as many as it takes elsewhere\n"
    "  --debug-dir=DIR           debug files are looked for there, too\n"
    "\n"
    "  Status 0: shown; 2: bad input, and one line on standard error says which.\n"
    "  The columns: tools/report/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return Parser(args).Parse();
}

}  // namespace allomon::report
