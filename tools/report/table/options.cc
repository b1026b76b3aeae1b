#include "tools/report/table/options.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "tools/report/table/estimates.h"

namespace allomon::views {
namespace {

constexpr int kMostColumns = 10000;

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status BadValue(const std::string& name, const std::string& value,
                      const std::string& allowed) {
  return Bad(name + ": \"" + value + "\" is not " + allowed);
}

template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

// "a, b or c".
template <typename Value, size_t kSize>
std::string WordsOf(const Choice<Value> (&choices)[kSize]) {
  std::string words;
  for (size_t i = 0; i < kSize; ++i) {
    if (i > 0) words += i + 1 == kSize ? " or " : ", ";
    words += choices[i].word;
  }
  return words;
}

template <typename Value, size_t kSize, typename Set>
absl::Status Choose(const Choice<Value> (&choices)[kSize], const char* name,
                    const std::string& text, const Set& set) {
  for (const auto& choice : choices) {
    if (choice.word != text) continue;
    set(choice.value);
    return absl::OkStatus();
  }
  return BadValue(name, text, WordsOf(choices));
}

constexpr Choice<Measure> kMetrics[] = {{"alloc", {heap::Metric::kAllocated, false}},
                                        {"live", {heap::Metric::kLive, false}},
                                        {"peak", {heap::Metric::kPeak, false}},
                                        {"temporary", {heap::Metric::kTemporary, false}},
                                        {"blocks", {heap::Metric::kAllocated, true}},
                                        {"promoted", {heap::Metric::kPromoted, false}},
                                        {"died-young", {heap::Metric::kDiedYoung, false}}};
constexpr Choice<View> kViews[] = {{"functions", View::kFunctions}, {"tree", View::kTree},
                                   {"callers", View::kCallers},     {"lines", View::kLines},
                                   {"sizes", View::kSizes},         {"threads", View::kThreads},
                                   {"lifetimes", View::kLifetimes}, {"ages", View::kAges}};
constexpr Choice<SortKey> kSortKeys[] = {
    {"cur", SortKey::kSelf}, {"stack", SortKey::kTotal}, {"name", SortKey::kName}};
constexpr Choice<Color> kColors[] = {
    {"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}};
constexpr Choice<Format> kFormats[] = {
    {"table", Format::kTable}, {"json", Format::kJson}, {"csv", Format::kCsv}};

absl::Status SetMetric(const std::string& value, Options* options) {
  return Choose(kMetrics, "--metric", value, [options](const Measure& measure) {
    options->metric = measure.metric;
    if (measure.blocks) options->blocks = true;
  });
}

absl::Status SetOnlyView(View view, Options* options) {
  if (options->view.has_value() && *options->view != view) {
    return Bad("--view, --timeline, --leaks and --source: choose one");
  }
  options->view = view;
  return absl::OkStatus();
}

absl::Status SetView(const std::string& value, Options* options) {
  View view = View::kFunctions;
  const absl::Status status =
      Choose(kViews, "--view", value, [&view](View chosen) { view = chosen; });
  return status.ok() ? SetOnlyView(view, options) : status;
}

absl::Status SetSort(const std::string& value, Options* options) {
  return Choose(kSortKeys, "--sort", value, [options](SortKey key) { options->sort = key; });
}

absl::Status SetColor(const std::string& value, Options* options) {
  return Choose(kColors, "--color", value, [options](Color color) { options->color = color; });
}

absl::Status SetFormat(const std::string& value, Options* options) {
  return Choose(kFormats, "--format", value,
                [options](Format format) { options->format = format; });
}

absl::Status AddPattern(const char* name, const std::string& value, heap::Patterns* patterns) {
  const absl::Status status = patterns->Add(value);
  return status.ok() ? status : Bad(std::string(name) + ": " + std::string(status.message()));
}

absl::Status AddFocus(const std::string& value, Options* options) {
  return AddPattern("--focus", value, &options->selection.focus);
}
absl::Status AddIgnore(const std::string& value, Options* options) {
  return AddPattern("--ignore", value, &options->selection.ignore);
}
absl::Status AddExclude(const std::string& value, Options* options) {
  return AddPattern("--exclude", value, &options->selection.exclude);
}

absl::Status SetBy(const std::string& value, Options* options) {
  const std::optional<std::string> key = heap::KeyOfBy(value);
  if (!key.has_value()) return BadValue("--by", value, "label:KEY, such as label:tenant");
  options->by_label = *key;
  return absl::OkStatus();
}

absl::Status AddLabelMatch(const char* name, const std::string& value,
                           std::vector<heap::LabelMatch>* matches) {
  heap::LabelMatch match;
  if (!heap::ParseLabelMatch(value, &match)) {
    return BadValue(name, value, "KEY=VALUE, such as tenant=acme, or KEY");
  }
  matches->push_back(match);
  return absl::OkStatus();
}

absl::Status AddFocusLabel(const std::string& value, Options* options) {
  return AddLabelMatch("--focus-label", value, &options->selection.labels.focus);
}
absl::Status AddIgnoreLabel(const std::string& value, Options* options) {
  return AddLabelMatch("--ignore-label", value, &options->selection.labels.ignore);
}

absl::Status SetSource(const std::string& value, Options* options) {
  if (value.empty()) return BadValue("--source", value, "the name of a function");
  options->source = value;
  return SetOnlyView(View::kSource, options);
}

template <typename Number>
bool ParseNumber(const std::string& text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

absl::Status SetTop(const std::string& value, Options* options) {
  size_t top = 0;
  if (!ParseNumber(value, &top)) return BadValue("--top", value, "a number of rows (0: all)");
  options->top = top;
  return absl::OkStatus();
}

absl::Status SetWidth(const std::string& value, Options* options) {
  int width = 0;
  if (!ParseNumber(value, &width) || width < 0 || width > kMostColumns) {
    return BadValue("--width", value, "a number of columns (0: as many as it takes)");
  }
  options->width = width;
  return absl::OkStatus();
}

absl::Status SetDebugDir(const std::string& value, Options* options) {
  if (value.empty() || value[0] != '/') {
    return BadValue("--debug-dir", value, "a folder such as /sysroot/usr/lib/debug");
  }
  options->debug_dir = value;
  return absl::OkStatus();
}

struct ValueOption {
  std::string_view name;
  absl::Status (*set)(const std::string& value, Options* options);
  bool heap_only;  // a report of an mlmon.out does not know it
};
constexpr ValueOption kValueOptions[] = {
    {"--metric", SetMetric, true},
    {"--view", SetView, true},
    {"--focus", AddFocus, true},
    {"--ignore", AddIgnore, true},
    {"--exclude", AddExclude, true},
    {"--source", SetSource, true},
    {"--format", SetFormat, true},
    {"--sort", SetSort, false},
    {"--top", SetTop, false},
    {"--width", SetWidth, false},
    {"--color", SetColor, false},
    {"--debug-dir", SetDebugDir, false},
    {"--by", SetBy, true},
    {"--focus-label", AddFocusLabel, true},
    {"--ignore-label", AddIgnoreLabel, true},
};

const ValueOption* FindValueOption(std::string_view name) {
  const auto found = std::find_if(std::begin(kValueOptions), std::end(kValueOptions),
                                  [name](const ValueOption& one) { return one.name == name; });
  return found == std::end(kValueOptions) ? nullptr : found;
}

constexpr std::string_view kHeapFlags[] = {"--timeline", "--leaks", "--blocks", "--wrappers"};

bool IsHeapFlag(std::string_view arg) {
  return std::find(std::begin(kHeapFlags), std::end(kHeapFlags), arg) != std::end(kHeapFlags);
}

using Arguments = std::vector<std::string>;

// What an mlmon.out has as it is: the arguments that stand for the option there.  No value: it has
// no such thing.
std::optional<Arguments> MlmonOption(std::string_view name, const std::string& value) {
  if (name == "--metric" && (value == "alloc" || value == "live")) return Arguments{};
  if (name == "--view" && value == "functions") return Arguments{};
  if (name == "--format" && value == "table") return Arguments{};
  if (name == "--format" && (value == "json" || value == "csv")) return Arguments{"--" + value};
  return std::nullopt;
}

// An argument and, if it takes one, its value.
struct Argument {
  std::string name;
  std::string value;
  size_t length = 1;  // how many arguments it was
  const ValueOption* option = nullptr;
};

Argument ArgumentAt(const std::vector<std::string>& args, size_t at) {
  const size_t equals = args[at].find('=');
  Argument argument = {args[at].substr(0, equals), "", 1, nullptr};
  argument.option = FindValueOption(argument.name);
  if (equals != std::string::npos) {
    argument.value = args[at].substr(equals + 1);
  } else if ((argument.option != nullptr || argument.name == "--picture") && at + 1 < args.size()) {
    argument.value = args[at + 1];
    argument.length = 2;
  }
  return argument;
}

bool IsOption(const std::string& arg) { return arg.size() > 1 && arg[0] == '-' && arg != "--"; }

// Of `allomon report` alone: it draws pictures of mlmon.out, and compares those.
bool IsOfMlmon(std::string_view name) { return name == "--picture" || name == "--diff"; }

class Parser {
 public:
  Parser(const std::vector<std::string>& args, Command command) : args_(args), command_(command) {}

  absl::StatusOr<Options> Parse() {
    while (at_ < args_.size()) {
      const std::string& arg = args_[at_++];
      if (arg == "--") {
        options_.files.insert(options_.files.end(), args_.begin() + at_, args_.end());
        break;
      }
      const absl::Status status = arg.size() > 1 && arg[0] == '-' ? SetOption(arg) : AddFile(arg);
      if (!status.ok()) return status;
    }
    return std::move(options_);
  }

 private:
  absl::Status AddFile(const std::string& name) {
    options_.files.push_back(name);
    return absl::OkStatus();
  }

  // Sets an option that takes no value.  False if `name` is not one.
  bool SetFlag(std::string_view name, absl::Status* status) {
    if (name == "--json" || name == "--csv") {
      options_.format = name == "--json" ? Format::kJson : Format::kCsv;
    } else if (name == "--help" || name == "-h") {
      options_.help = true;
    } else if (name == "--fail-on-growth" && command_ == Command::kDiff) {
      options_.fail_on_growth = true;
    } else {
      return SetHeapFlag(name, status);
    }
    return true;
  }

  bool SetHeapFlag(std::string_view name, absl::Status* status) {
    if (name == "--timeline") {
      *status = SetOnlyView(View::kTimeline, &options_);
    } else if (name == "--leaks") {
      *status = SetOnlyView(View::kLeaks, &options_);
    } else if (name == "--blocks") {
      options_.blocks = true;
    } else if (name == "--wrappers") {
      options_.selection.wrappers = true;
    } else {
      return false;
    }
    return true;
  }

  absl::Status SetOption(const std::string& arg) {
    absl::Status status;
    if (SetFlag(arg, &status)) return status;
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    if (IsOfMlmon(name) && command_ == Command::kReport) {
      return Bad(name == "--diff"
                     ? "--diff is for mlmon.out: heap profiles are compared by allomon diff A B"
                     : name +
                           " is for mlmon.out: pictures of heap profiles are made by "
                           "allomon flame FILE -o x.html");
    }
    const ValueOption* const option = FindValueOption(name);
    if (option == nullptr) return Bad("unknown option " + arg + "; --help lists them");
    if (equals != std::string::npos) return option->set(arg.substr(equals + 1), &options_);
    if (at_ == args_.size()) return Bad(name + " needs a value");
    return option->set(args_[at_++], &options_);
  }

  const std::vector<std::string>& args_;
  const Command command_;
  size_t at_ = 0;
  Options options_;
};

}  // namespace

const char kReportUsage[] =
    "  Of recordings, pprof files and other heap profiles with call stacks:\n"
    "  --metric=alloc|live|peak|temporary|blocks|promoted|died-young\n"
    "                            what rows are of: all that was allocated, what is live, what was\n"
    "                            live when most was, what died at once, the number of blocks\n"
    "  --blocks                  blocks instead of bytes, of any metric\n"
    "  --view=functions|tree|callers|lines|sizes|threads|lifetimes|ages\n"
    "  --timeline                what was live, over time\n"
    "  --leaks                   what grew and did not die\n"
    "  --source=FUNCTION         the function's source with amounts beside its lines\n"
    "  --focus=RE, --ignore=RE   only stacks with such a function or file; without such stacks\n"
    "  --exclude=RE              such frames are left out: their callers are charged\n"
    "  --by=label:KEY            a row for each value of a label; with --leaks, which of them\n"
    "                            grew; with --view=tree, callers, functions or lines, the value "
    "is\n"
    "                            the outermost frame\n"
    "  --focus-label=KEY=VALUE, --ignore-label=KEY=VALUE\n"
    "                            only blocks with that label; without them.  KEY alone: any value\n"
    "  --wrappers                amounts stay with functions that only pass memory on\n"
    "  --format=table|json|csv   --json and --csv are short for it\n";

const char kDiffUsage[] =
    "usage: allomon diff [options] BEFORE AFTER\n"
    "  Shows which rows truly changed from one heap profile to another, and which differ by "
    "chance\n"
    "  of sampling.  Two files mlmon.out are compared as by allomon report --diff.\n"
    "\n"
    "  --metric=alloc|live|peak|temporary|blocks|promoted|died-young, --blocks\n"
    "  --view=functions|tree|callers|lines\n"
    "  --focus=RE, --ignore=RE, --exclude=RE, --wrappers, --by=label:KEY,\n"
    "  --focus-label=KEY=VALUE, --ignore-label=KEY=VALUE: as of allomon report\n"
    "  --fail-on-growth          status 1 if a row grew\n"
    "  --top=N, --width=N, --color=auto|always|never, --format=table|json|csv, --debug-dir=DIR\n"
    "\n"
    "  Status 0: compared; 1: a row grew, with --fail-on-growth; 2: bad input.\n"
    "  How it is told: tools/report/views/README.md\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args, Command command) {
  return Parser(args, command).Parse();
}

std::vector<std::string> FilesOf(const std::vector<std::string>& args) {
  std::vector<std::string> files;
  for (size_t i = 0; i < args.size();) {
    if (args[i] == "--") {
      files.insert(files.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (!IsOption(args[i])) files.push_back(args[i]);
    i += IsOption(args[i]) ? ArgumentAt(args, i).length : 1;
  }
  return files;
}

bool HasHeapOptions(const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size() && args[i] != "--";) {
    const Argument argument = ArgumentAt(args, i);
    if (!IsOption(args[i])) {
      ++i;
      continue;
    }
    if (IsHeapFlag(args[i]) || (argument.option != nullptr && argument.option->heap_only)) {
      return true;
    }
    i += argument.length;
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> ForMlmon(const std::vector<std::string>& args,
                                                  const std::string& file) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size();) {
    if (args[i] == "--") {
      rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    }
    const Argument argument = IsOption(args[i]) ? ArgumentAt(args, i) : Argument();
    const size_t end = i + argument.length;
    const bool is_heap_option = argument.option != nullptr && argument.option->heap_only;
    if (IsHeapFlag(args[i]) || is_heap_option) {
      const auto instead = MlmonOption(argument.name, argument.value);
      if (!instead) {
        return Bad(file + " has no call stacks, times or sizes for " + args[i] +
                   ": record the program with allomon run -- PROGRAM");
      }
      rest.insert(rest.end(), instead->begin(), instead->end());
      i = end;
      continue;
    }
    for (; i < end; ++i) rest.push_back(args[i]);
  }
  return rest;
}

}  // namespace allomon::views
