#include "tools/snapshot/heap_command.h"

#include <new>

#include "tools/options/documents.h"
#include "tools/snapshot/options.h"
#include "tools/snapshot/read_snapshot.h"
#include "tools/snapshot/views.h"

namespace allomon::snapshot {
namespace {

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
