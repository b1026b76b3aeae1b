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
    std::string* const value = ValueOf(name, &options_);
    if (value == nullptr) return Bad("unknown option " + arg + "; --help lists them");
    if (equals == std::string::npos && at_ == args_.size()) return Bad(name + " needs a value");
    *value = equals == std::string::npos ? args_[at_++] : arg.substr(equals + 1);
    return value->empty() ? Bad(name + " needs a value") : absl::OkStatus();
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
    "  --debug-dir=DIR  debug files are looked for there, too\n"
    "\n"
    "  Status 0: written; 2: bad input, and one line on standard error says which.\n"
    "  The page: tools/flame/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return Parser(args).Parse();
}

}  // namespace allomon::flame
