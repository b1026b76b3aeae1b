#include "tools/mlprof/mlprof.h"

#include <optional>
#include <utility>

#include "tools/mlmon/load_profile.h"
#include "tools/mlmon/program.h"
#include "tools/mlprof/dot.h"
#include "tools/mlprof/keep.h"
#include "tools/mlprof/options.h"
#include "tools/mlprof/selection.h"
#include "tools/mlprof/table.h"
#include "tracker/formats/version.h"
#include "tracker/formats/write_file.h"

namespace allomon::mlprof {
namespace {

bool LoadData(const Options& options, const Program& program, std::optional<Mlmon>* data,
              std::string* warnings, std::string* error) {
  std::vector<std::string> listed;
  if (!LoadFileLists(options.mlmon_lists, &listed, error)) return false;
  std::vector<std::string> files = options.mlmon_files;
  files.insert(files.end(), listed.begin(), listed.end());
  return LoadProfile(program, files, options.tolerant, data, warnings, error);
}

bool WriteGraph(const Options& options, const ProfileView& view, const Selection& selection,
                std::string* error) {
  if (!options.call_graph) return true;
  DotStyle style;
  style.title = options.graph_title.value_or(options.executable + " call-stack graph");
  style.gray = options.gray;
  style.raw = options.raw;
  style.show_line = options.show_line;
  std::string dot;
  return FormatDot(view, selection, style, &dot, error) &&
         WriteFileAtomically(*options.call_graph, dot, kPrivateMode, error);
}

bool Run(const Options& options, std::string* out, std::string* warnings, std::string* error) {
  Program program;
  std::optional<Mlmon> data;
  if (!LoadProgram(options.executable, options.long_name, options.split, &program, error) ||
      !LoadData(options, program, &data, warnings, error)) {
    return false;
  }
  const ProfileView view(program, std::move(data));
  const Selection selection = Select(view, KeptSources(options.keep, view));
  if (!WriteGraph(options, view, selection, error)) return false;
  *out = TotalsLine(view) + FormatTable(view, selection, options.raw, options.show_line);
  return true;
}

constexpr char kManual[] =
    "\n    --help --version\n"
    "Shows what mlmon.out files say about an executable, as MLton's mlprof does.  For people at a\n"
    "terminal there is allomon report.\n";

// Options with two dashes, which MLton's mlprof does not have.
Result RunLongOption(const std::string& option) {
  if (option == "--help") return {true, Usage() + kManual, ""};
  if (option == "--version") return {true, std::string("mlprof ") + kVersion + "\n", ""};
  return {false, "", "unknown switch: " + option + "; mlprof --help lists all\n"};
}

bool IsLongOption(const std::string& arg) { return arg.size() > 2 && arg.compare(0, 2, "--") == 0; }

}  // namespace

Result RunMlprof(const std::vector<std::string>& args) {
  if (!args.empty() && IsLongOption(args[0])) return RunLongOption(args[0]);
  Result result;
  Options options;
  std::string error;
  result.success =
      ParseOptions(args, &options, &error) && Run(options, &result.out, &result.err, &error);
  if (!result.success) result.err += error + "\n";
  return result;
}

}  // namespace allomon::mlprof
