// The command lines of `allomon report` for heap profiles, and of `allomon diff`.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_OPTIONS_H_
#define ALLOMON_TOOLS_REPORT_TABLE_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/selection.h"

namespace allomon::views {

extern const char kReportUsage[];
extern const char kDiffUsage[];

enum class View {
  kFunctions,
  kTree,
  kCallers,
  kLines,
  kSizes,
  kThreads,
  kLifetimes,
  kAges,
  kTimeline,
  kLeaks,
  kSource,
  kLabels,  // with by_label
};
enum class SortKey { kSelf, kTotal, kName };
enum class Color { kAuto, kAlways, kNever };
enum class Format { kTable, kJson, kCsv };

struct Options {
  std::optional<heap::Metric> metric;  // none: as DefaultMetric() chooses
  bool blocks = false;                 // count blocks, not bytes
  std::optional<View> view;            // none: functions
  SortKey sort = SortKey::kSelf;
  heap::Selection selection;
  std::string by_label;       // the key whose values are rows, or outermost frames; empty: none
  std::string source;         // the function whose source is shown
  std::optional<size_t> top;  // 0: all
  std::optional<int> width;   // columns; 0: as many as needed
  Color color = Color::kAuto;
  Format format = Format::kTable;
  std::string debug_dir;
  bool fail_on_growth = false;  // diff only
  bool help = false;
  std::vector<std::string> files;
};

enum class Command { kReport, kDiff };

// Accepts --name=value and --name value, options and files in any order, and only files behind
// `--`.  Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args, Command command);

// The files among the arguments, as far as these are understood.
std::vector<std::string> FilesOf(const std::vector<std::string>& args);

// Whether an option is there that only heap profiles know.
bool HasHeapOptions(const std::vector<std::string>& args);

// The arguments as a report of an mlmon.out knows them: without those that say what it shows anyhow
// (--view=functions).  Fails with one line that says what `file` lacks.
absl::StatusOr<std::vector<std::string>> ForMlmon(const std::vector<std::string>& args,
                                                  const std::string& file);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_OPTIONS_H_
