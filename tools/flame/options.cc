#include "tools/flame/options.h"

namespace allomon::flame {
namespace {

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

std::string* ValueOf(const std::string& name, Options* options) {
  if (name == "--diff") return &options->before;
  if (name == "--metric") return &options->metric;
  if (name == "--title") return &options->title;
  if (name == "--debug-dir") return &options->debug_dir;
  if (name == "-o" || name == "--output") return &options->out;
  return nullptr;
}

bool IsOfLabels(const std::string& name) {
  return name == "--by" || name == "--focus-label" || name == "--ignore-label";
}

absl::Status SetLabels(const std::string& name, const std::string& value, Options* options) {
  if (name == "--by") {
    const std::optional<std::string> key = heap::KeyOfBy(value);
    options->by_label = key.value_or("");
    return key.has_value() ? absl::OkStatus() : Bad("--by: give label:KEY, such as label:tenant");
  }
  heap::LabelMatch match;
  if (!heap::ParseLabelMatch(value, &match)) return Bad(name + ": give KEY=VALUE, or KEY");
  (name == "--focus-label" ? options->labels.focus : options->labels.ignore).push_back(match);
  return absl::OkStatus();
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
      const absl::Status status = Take(arg);
      if (!status.ok()) return status;
    }
    if (options_.files.empty() && !options_.help) {
      return Bad("no profile to show; name the file that allomon run wrote");
    }
    return options_;
  }

 private:
  absl::Status Take(const std::string& arg) {
    if (arg == "--help" || arg == "-h") {
      options_.help = true;
    } else if (arg.size() > 1 && arg[0] == '-') {
      return TakeValue(arg);
    } else {
      options_.files.push_back(arg);
    }
    return absl::OkStatus();
  }

  absl::Status TakeValue(const std::string& arg) {
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    std::string* const place = ValueOf(name, &options_);
    if (place == nullptr && !IsOfLabels(name)) {
      return Bad("unknown option " + arg + "; --help lists them");
    }
    if (equals == std::string::npos && at_ == args_.size()) return Bad(name + " needs a value");
    const std::string value = equals == std::string::npos ? args_[at_++] : arg.substr(equals + 1);
    if (value.empty()) return Bad(name + " needs a value");
    if (place == nullptr) return SetLabels(name, value, &options_);
    *place = value;
    return absl::OkStatus();
  }

  const std::vector<std::string>& args_;
  size_t at_ = 0;
  Options options_;
};

}  // namespace

const char kUsage[] =
    "usage: allomon flame [options] FILE...\n"
    "  Writes an interactive flame graph of heap profiles: one HTML file that loads nothing.\n"
    "  Several profiles add up.\n"
    "\n"
    "  --diff=OTHER     compare with OTHER: what grew since it is red, what shrank is blue\n"
    "  --metric=alloc|peak|live|temporary|promoted|died-young\n"
    "                   what is shown first.  Default peak, or what there is\n"
    "  --title=TEXT     default the program's name\n"
    "  -o x.html        default allomon.html; replaced if it exists\n"
    "  --by=label:KEY   the outermost frames are the values of a label\n"
    "  --focus-label=KEY=VALUE, --ignore-label=KEY=VALUE\n"
    "                   only blocks with that label; without them.  KEY alone: any value\n"
    "  --debug-dir=DIR  debug files are looked for there, too\n"
    "\n"
    "  Status 0: written; 2: bad input, and one line on standard error says which.\n"
    "  The page: tools/flame/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return Parser(args).Parse();
}

}  // namespace allomon::flame
