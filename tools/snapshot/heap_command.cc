#include "tools/snapshot/heap_command.h"

#include <new>

#include "tools/options/command_line.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/snapshot/read_snapshot.h"
#include "tools/snapshot/views.h"

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

constexpr int kUsualColumns = 80;

class Command {
 public:
  Command(const Options& options, const report::Terminal& terminal)
      : options_(options), progress_(terminal.shows_progress) {
    style_.top = options.top;
    style_.charset = terminal.charset;
    style_.width = options.width.value_or(terminal.columns > 0 ? terminal.columns : kUsualColumns);
  }

  absl::StatusOr<std::string> Run() {
    const bool graph = options_.before.empty();
    const auto snapshot = Read(options_.file, graph);
    if (!snapshot.ok()) return snapshot.status();
    const auto text = graph ? OfOne(*snapshot) : OfTwo(*snapshot);
    if (!text.ok()) return text.status();
    return Shown(options_.file, style_) + ": " + *text;
  }

 private:
  absl::StatusOr<Snapshot> Read(const std::string& path, bool edges) {
    ReadOptions read;
    read.edges = edges;
    constexpr int kMostColumns = 40;
    const std::string name = CutToEnd(Shown(path, style_), kMostColumns, style_.charset);
    auto snapshot = ReadSnapshotFile(path, read, [this, &name](uint64_t bytes) {
      progress_.Show("reading " + name + ": " + BytesText(bytes));
    });
    progress_.Show("");
    return snapshot;
  }

  absl::StatusOr<std::string> OfOne(const Snapshot& snapshot) {
    progress_.Show("finding paths of " + Objects(snapshot.n_nodes()));
    const ShortestPaths paths = FindShortestPaths(snapshot);
    if (options_.paths_of.has_value()) {
      return Done(PathsText(snapshot, paths, *options_.paths_of, style_));
    }
    progress_.Show("finding dominators of " + Objects(snapshot.n_nodes()));
    const Dominators dominators = FindDominators(snapshot);
    return Done(options_.object.has_value()
                    ? ObjectText(snapshot, dominators, paths, *options_.object, style_)
                    : SummaryText(snapshot, dominators, paths, style_));
  }

  // Adds the file's name to errors, since wrong options are wrong for this file.
  absl::StatusOr<std::string> Done(absl::StatusOr<std::string> text) {
    progress_.Show("");
    if (text.ok()) return text;
    return absl::InvalidArgumentError(options_.file + ": " + std::string(text.status().message()));
  }

  absl::StatusOr<std::string> OfTwo(const Snapshot& after) {
    const auto before = Read(options_.before, false);
    if (!before.ok()) return before.status();
    return "since " + Shown(options_.before, style_) + "\n\n" + DiffText(*before, after, style_);
  }

  const Options& options_;
  report::Progress progress_;
  Style style_;
};

CommandResult BadInput(const absl::Status& status, Charset charset) {
  return {2, "", "allomon heap: " + Printable(std::string(status.message()), charset) + "\n"};
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

const options::CommandText& HeapText() { return HeapCommand().Text(); }

CommandResult RunHeap(const std::vector<std::string>& args, const report::Terminal& terminal) {
  const auto options = ParseOptions(args);
  if (!options.ok()) return BadInput(options.status(), terminal.charset);
  const auto answer = options::AnswerTo(*options, HeapCommand().Text());
  if (answer.has_value()) return *answer;
  try {
    const auto text = Command(*options, terminal).Run();
    if (!text.ok()) return BadInput(text.status(), terminal.charset);
    return {0, *text, ""};
  } catch (const std::bad_alloc&) {
    return {2, "", "allomon heap: not enough memory for this snapshot\n"};
  }
}

}  // namespace allomon::snapshot
