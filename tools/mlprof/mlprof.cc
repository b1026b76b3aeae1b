#include "tools/mlprof/mlprof.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/mlmon/load_profile.h"
#include "tools/mlmon/program.h"
#include "tools/mlprof/dot.h"
#include "tools/mlprof/keep.h"
#include "tools/mlprof/profile_view.h"
#include "tools/mlprof/table.h"
#include "tools/text/numbers.h"
#include "tracker/formats/version.h"
#include "tracker/formats/write_file.h"

namespace allomon::mlprof {
namespace {

// Stores the argument of an option.  On failure `error` says what is wrong with the argument.
using Store = bool (*)(const std::string& argument, Options* options, std::string* error);

bool StoreCallGraph(const std::string& file, Options* options, std::string*) {
  options->call_graph = file;
  return true;
}

bool StoreTitle(const std::string& title, Options* options, std::string*) {
  options->graph_title = title;
  return true;
}

bool StoreKeep(const std::string& text, Options* options, std::string* error) {
  if (ParseKeep(text, &options->keep, error)) return true;
  error->insert(0, "invalid -keep arg: Fail: ");
  return false;
}

bool StoreList(const std::string& file, Options* options, std::string*) {
  options->mlmon_lists.push_back(file);
  return true;
}

bool StoreSplit(const std::string& pattern, Options* options, std::string* error) {
  std::optional<Regexp> regexp = Regexp::Compile(pattern);
  if (!regexp) {
    *error = "invalid -split regexp: " + pattern;
    return false;
  }
  options->split.push_back(*std::move(regexp));
  return true;
}

bool StoreThreshold(const std::string& text, Options* options, std::string* error) {
  double percent = 0;
  if (!ScanReal(text, &percent)) {
    *error = "-thresh requires a real";
    return false;
  }
  // This is not IsThreshold: mlprof's check lets NaN pass, which keeps nothing, and so does this
  // one.
  if (percent < 0 || percent > 100) {
    *error = "invalid -thresh";
    return false;
  }
  options->keep = Threshold(percent);
  return true;
}

template <bool Options::*kFlag>
bool StoreFlag(const std::string& text, Options* options, std::string*) {
  options->*kFlag = text[0] == 't';
  return true;
}

struct Option {
  std::string_view name;
  std::string_view argument;
  std::string_view help;  // empty if the usage does not show the option
  Store store;
  bool is_flag;
};

constexpr std::string_view kFlagArgument = "{false|true}";

template <bool Options::*kFlag>
constexpr Option Flag(std::string_view name, std::string_view help) {
  return {name, kFlagArgument, help, StoreFlag<kFlag>, true};
}

constexpr Option Text(std::string_view name, std::string_view argument, std::string_view help,
                      Store store) {
  return {name, argument, help, store, false};
}

constexpr Option kOptions[] = {
    Text("call-graph", "<file>", "write call graph to dot file", StoreCallGraph),
    Text("graph-title", "<string>", "set call-graph title", StoreTitle),
    Flag<&Options::gray>("gray", "gray nodes according to stack %"),
    Text("keep", "<exp>", "which functions to display", StoreKeep),
    Flag<&Options::long_name>("long-name", ""),
    Text("mlmon", "<file>", "process mlmon files listed in <file>", StoreList),
    Flag<&Options::raw>("raw", "show raw counts"),
    Flag<&Options::show_line>("show-line", "show line numbers"),
    Text("split", "<regexp>", "split matching functions", StoreSplit),
    Text("thresh", "[0.0,100.0]", "-keep (thresh x)", StoreThreshold),
    Flag<&Options::tolerant>("tolerant", "ignore broken mlmon files"),
};

std::string UsageColumn(const Option& option) {
  return "    -" + std::string(option.name) + " " + std::string(option.argument) + " ";
}

const Option* FindOption(std::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

// mlprof takes `truex` for true.
bool IsBool(std::string_view text) {
  return text.substr(0, 4) == "true" || text.substr(0, 5) == "false";
}

bool StoreOption(const std::string& dashed, const std::string* argument, Options* options,
                 std::string* error) {
  const Option* option = FindOption(std::string_view(dashed).substr(1));
  if (option == nullptr) {
    *error = "unknown switch: " + dashed;
    return false;
  }
  if (argument == nullptr) {
    *error = dashed + " requires an argument";
    return false;
  }
  if (option->is_flag && !IsBool(*argument)) {
    *error = dashed + " requires a boolean";
    return false;
  }
  return option->store(*argument, options, error);
}

bool Parse(const std::vector<std::string>& args, Options* options, std::string* error) {
  size_t i = 0;
  for (; i < args.size() && args[i].substr(0, 1) == "-"; i += 2) {
    const std::string* argument = i + 1 < args.size() ? &args[i + 1] : nullptr;
    if (!StoreOption(args[i], argument, options, error)) return false;
  }
  if (i >= args.size()) {
    *error = "wrong number of args";
    return false;
  }
  options->executable = args[i];
  options->mlmon_files.assign(args.begin() + i + 1, args.end());
  return true;
}

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

std::string Usage() {
  size_t width = 0;
  for (const Option& option : kOptions) {
    if (!option.help.empty()) {
      width = std::max(width, UsageColumn(option).size());
    }
  }
  std::string usage = "usage: mlprof [option ...] a.out [mlmon.out ...]";
  for (const Option& option : kOptions) {
    if (option.help.empty()) continue;
    std::string column = UsageColumn(option);
    column.resize(width, ' ');
    usage.append("\n").append(column).append(option.help);
  }
  return usage;
}

bool ParseOptions(const std::vector<std::string>& args, Options* options, std::string* error) {
  *options = Options();
  if (Parse(args, options, error)) return true;
  error->append("\n").append(Usage());
  return false;
}

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
