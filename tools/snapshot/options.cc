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
  return options::ParseTop(value, &options->top);
}

absl::Status SetWidth(const std::string& value, Options* options) {
  return options::ParseWidth(value, &options->width.emplace());
}

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

options::CommandText Text() {
  options::CommandText text;
  text.name = "heap";
  text.summary = "show a heap snapshot: types, retained sizes, who keeps whom alive";
  text.usages = {"[options] FILE"};
  text.description = {
      "Shows a heap snapshot: of Heap::WriteSnapshot() (runtime/heap.h), of Chrome, of Node.js.  "
      "Without options: what is live and retained by type, and the objects that hold most.",
      "FILE may be - for standard input."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "shown"}, {"2", "bad input, and one line on standard error says which"}};
  text.examples = {{"allomon heap --diff=before.heapsnapshot after.heapsnapshot",
                    "the types whose objects became more"}};
  text.manual = "tools/snapshot/README.md";
  return text;
}

}  // namespace

const options::Command<Options>& HeapCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--paths", "TYPE", "", "who keeps the objects of a type alive", SetPaths},
         {"--object", "ID", "",
          "one object: its way from a root, what it refers to and keeps alive", SetObject},
         {"--diff", "FILE", "", "what has grown since an earlier snapshot, by type", SetBefore},
         {"--top", "N", "15", "rows of a table.  0: all.", SetTop},
         {"--width", "N", "the terminal's, or 80", "columns.  0: as many as it takes.",
          SetWidth}}}},
      AddFile, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return HeapCommand().Parse(args);
}

}  // namespace allomon::snapshot
