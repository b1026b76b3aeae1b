#include "tools/snapshot/options.h"

#include "tools/options/command_line.h"
#include "tools/options/values.h"

namespace allomon::snapshot {
namespace {

using options::Bad;
using options::BadValue;
using options::ParseNumber;

absl::Status SetPaths(const std::string& value, Options* options) {
  options->paths_of = value;
  return value.empty() ? Bad("--paths: name a type of the table") : absl::OkStatus();
}

// As it is shown, with or without the mark in front.
absl::Status SetObject(const std::string& value, Options* options) {
  const std::string digits = value.substr(0, 1) == "@" ? value.substr(1) : value;
  if (ParseNumber(digits, &options->object.emplace())) return absl::OkStatus();
  return BadValue("--object", value, "the number behind an object's @");
}

absl::Status SetBefore(const std::string& value, Options* options) {
  options->before = value;
  return value.empty() ? Bad("--diff: name an earlier snapshot") : absl::OkStatus();
}

absl::Status SetTop(const std::string& value, Options* options) {
  if (ParseNumber(value, &options->top)) return absl::OkStatus();
  return BadValue("--top", value, "a number of rows (0: all)");
}

absl::Status SetWidth(const std::string& value, Options* options) {
  if (ParseNumber(value, &options->width.emplace()) && *options->width >= 0) {
    return absl::OkStatus();
  }
  return BadValue("--width", value, "a number of columns (0: as many as it takes)");
}

constexpr options::Flag<Options> kFlags[] = {
    {"--help", [](Options* options) { options->help = true; }},
    {"-h", [](Options* options) { options->help = true; }},
};
constexpr options::ValueOption<Options> kValues[] = {{"--paths", SetPaths},
                                                     {"--object", SetObject},
                                                     {"--diff", SetBefore},
                                                     {"--top", SetTop},
                                                     {"--width", SetWidth}};

absl::Status AddFile(const std::string& word, Options* options) {
  if (!options->file.empty()) return Bad("one snapshot at a time; compare two by --diff=EARLIER");
  options->file = word;
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  if (options.file.empty()) return Bad("no snapshot; name a .heapsnapshot file");
  const int chosen = (options.paths_of.has_value() ? 1 : 0) + (options.object.has_value() ? 1 : 0) +
                     (options.before.empty() ? 0 : 1);
  return chosen <= 1 ? absl::OkStatus() : Bad("--paths, --object and --diff: choose one");
}

}  // namespace

const char kUsage[] =
    "usage: allomon heap [options] FILE\n"
    "  Shows a heap snapshot: of Heap::WriteSnapshot() (runtime/heap.h), of Chrome, of Node.js.\n"
    "  Without options: what is live and retained by type, and the objects that hold most.\n"
    "\n"
    "  --paths=TYPE     who keeps the objects of a type alive\n"
    "  --object=ID      one object: its way from a root, what it refers to and keeps alive\n"
    "  --diff=EARLIER   what has grown since an earlier snapshot, by type\n"
    "  --top=N          rows of a table.  Default 15; 0: all\n"
    "  --width=N        columns.  Default the terminal's, or 80; 0: as many as it takes\n"
    "\n"
    "  FILE may be - for standard input.\n"
    "  Status 0: shown; 2: bad input, and one line on standard error says which.\n"
    "  What the columns mean: tools/snapshot/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  Options options;
  absl::Status status = options::ParseCommandLine(args, {kFlags, kValues, AddFile}, &options);
  if (status.ok() && !options.help) status = Check(options);
  if (!status.ok()) return status;
  return options;
}

}  // namespace allomon::snapshot
