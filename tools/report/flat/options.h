// The command line of `allomon report`.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_OPTIONS_H_
#define ALLOMON_TOOLS_REPORT_FLAT_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::report {

extern const char kUsage[];

enum class SortKey { kCurrent, kStack, kGc, kName };
enum class Color { kAuto, kAlways, kNever };
enum class Format { kTable, kJson, kCsv };

struct Options {
  std::optional<SortKey> sort;  // none: as OrderOf() chooses
  std::optional<size_t> top;    // 0: all
  std::optional<int> width;     // columns; 0: as many as needed
  Color color = Color::kAuto;
  Format format = Format::kTable;
  bool diff = false;
  std::string picture;    // empty: none
  std::string debug_dir;  // where debug files are looked for, too
  bool help = false;
  std::vector<std::string> files;
};

// Accepts --name=value and --name value, options and files in any order, and only files behind
// `--`.  Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_OPTIONS_H_
