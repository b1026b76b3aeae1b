// The command lines of `allomon report` and `allomon diff`: one table each, for profiles with call
// stacks and for mlmon.out.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_OPTIONS_H_
#define ALLOMON_TOOLS_REPORT_TABLE_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/stacks.h"
#include "tools/options/command_line.h"
#include "tools/symbols/name_sources.h"

namespace allomon::views {

enum class View {
  kFunctions,
  kTree,
  kCallers,
  kLines,
  kSizes,
  kTypes,
  kUnused,
  kPages,
  kThreads,
  kModules,
  kLifetimes,
  kAges,
  kTimeline,
  kLeaks,
  kSource,
  kLabels,  // with by_label
};
// The value of --view, or the name of the option that chooses the view.
std::string ViewName(View view);
enum class SortKey { kSelf, kTotal, kGc, kName };
enum class Color { kAuto, kAlways, kNever };
enum class Format { kTable, kJson, kCsv };

// The kinds of files, which have a use for some options each.
inline constexpr unsigned kWithStacks = 1;
inline constexpr unsigned kOfMlmon = 2;

struct Options : options::Common {
  // Of profiles with stacks.
  std::optional<heap::Metric> metric;  // none: as DefaultMetric() chooses
  bool blocks = false;                 // count blocks, not bytes
  std::optional<View> view;            // none: functions
  heap::Selection selection;
  heap::Born born;              // report only
  heap::Outlived outlived;      // report only
  std::string by_label;         // the key whose values are rows, or outermost frames; empty: none
  std::string source;           // the function whose source is shown
  bool fail_on_growth = false;  // diff only

  // Of mlmon.out.
  std::string picture;  // empty: none
  bool diff = false;    // report only

  // Of both.
  std::optional<SortKey> sort;  // none: as the kind of file has it
  std::optional<size_t> top;    // 0: all
  std::optional<int> width;     // columns; 0: as many as needed
  Color color = Color::kAuto;
  Format format = Format::kTable;
  size_t most_bytes = 0;  // of JSON; 0: any number
  NameSources name_sources;
  std::vector<std::string> files;
  const char* command = "report";  // for hints: "leaks" takes a process

  // Of leaks only.
  bool only_direct = false;
  bool roots = false;
  std::vector<std::string> suppressions;  // files
  heap::Patterns suppressed;              // their lines, for paths of modules
  std::string why;                        // a pattern of functions; empty: none
};

enum class Command { kReport, kDiff, kLeaks };

const options::Command<Options>& TableOf(Command command);

// Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args, Command command);

// Returns the given options that say which blocks and stacks count and where names come from, as
// words of a shell with a blank before each.  A command that shows more of the same has them, too.
std::string SelectingOptions(const Options& options);

// Fails with one line, which names the remedy, if an option was given that files of a kind
// (kWithStacks or kOfMlmon) have no use for.  `file` is one of that kind.
absl::Status CheckInputs(const Options& options, unsigned kind, const std::string& file);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_OPTIONS_H_
