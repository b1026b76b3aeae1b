#include "tools/report/table/options.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "tools/heap/heap_profile.h"
#include "tools/load/profile_options.h"
#include "tools/options/choices.h"
#include "tools/options/values.h"
#include "tools/report/table/estimates.h"
#include "tools/report/table/outputs.h"
#include "tools/text/shell_word.h"

namespace allomon::views {
namespace {

using options::Bad;
using options::BadValue;
using options::Choice;
using options::Choose;
using options::OneOf;
using options::Option;

constexpr Choice<Measure> Bytes(heap::Metric metric) {
  return {heap::MetricName(metric), {metric, false}};
}
constexpr Choice<Measure> kMeasures[] = {Bytes(heap::Metric::kAllocated),
                                         Bytes(heap::Metric::kLive),
                                         Bytes(heap::Metric::kPeak),
                                         Bytes(heap::Metric::kTemporary),
                                         {"blocks", {heap::Metric::kAllocated, true}},
                                         Bytes(heap::Metric::kPromoted),
                                         Bytes(heap::Metric::kDiedYoung)};
constexpr Choice<View> kViews[] = {
    {"functions", View::kFunctions}, {"tree", View::kTree},           {"callers", View::kCallers},
    {"lines", View::kLines},         {"sizes", View::kSizes},         {"types", View::kTypes},
    {"unused", View::kUnused},       {"pages", View::kPages},         {"threads", View::kThreads},
    {"modules", View::kModules},     {"lifetimes", View::kLifetimes}, {"ages", View::kAges}};
// Views that have options of their own.
constexpr Choice<View> kOtherViews[] = {{"timeline", View::kTimeline},
                                        {"leaks", View::kLeaks},
                                        {"source", View::kSource},
                                        {"labels", View::kLabels}};
constexpr Choice<View> kViewsOfLive[] = {
    {"functions", View::kFunctions}, {"tree", View::kTree},       {"callers", View::kCallers},
    {"lines", View::kLines},         {"sizes", View::kSizes},     {"types", View::kTypes},
    {"unused", View::kUnused},       {"threads", View::kThreads}, {"ages", View::kAges},
    {"lifetimes", View::kLifetimes}};
constexpr Choice<View> kComparedViews[] = {{"functions", View::kFunctions},
                                           {"tree", View::kTree},
                                           {"callers", View::kCallers},
                                           {"lines", View::kLines}};
constexpr Choice<SortKey> kSortKeys[] = {{"cur", SortKey::kSelf},
                                         {"stack", SortKey::kTotal},
                                         {"gc", SortKey::kGc},
                                         {"name", SortKey::kName}};
constexpr Choice<Color> kColors[] = {
    {"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}};
constexpr Choice<Format> kFormats[] = {
    {"table", Format::kTable}, {"json", Format::kJson}, {"csv", Format::kCsv}};

absl::Status SetMetric(const std::string& value, Options* options) {
  Measure measure;
  const absl::Status status = Choose(kMeasures, "--metric", value, &measure);
  options->metric = measure.metric;
  options->blocks |= measure.blocks;
  return status;
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
  const absl::Status status = Choose(kViews, "--view", value, &view);
  return status.ok() ? SetOnlyView(view, options) : status;
}

absl::Status SetComparedView(const std::string& value, Options* options) {
  return Choose(kComparedViews, "--view", value, &options->view.emplace());
}

absl::Status SetSource(const std::string& value, Options* options) {
  if (value.empty()) return BadValue("--source", value, "the name of a function");
  options->source = value;
  return SetOnlyView(View::kSource, options);
}

absl::Status AddPattern(const char* name, const std::string& value, heap::Patterns* patterns) {
  const absl::Status status = patterns->Add(value);
  return status.ok() ? status : Bad(std::string(name) + ": " + std::string(status.message()));
}

absl::Status SetFormat(Format format, Options* options) {
  if (options->format != Format::kTable && options->format != format) {
    return Bad("--json and --csv: choose one");
  }
  options->format = format;
  return absl::OkStatus();
}

absl::Status SetMostBytes(const std::string& value, Options* options) {
  uint64_t bytes = 0;
  if (!options::ParseBytes(value, &bytes) || bytes < kLeastJsonBytes) {
    return BadValue("--max-bytes", value, "a number of bytes, 16k or more");
  }
  options->most_bytes = bytes;
  return absl::OkStatus();
}

absl::Status SetPicture(const std::string& value, Options* options) {
  options->picture = value;
  if (!value.empty()) return absl::OkStatus();
  return BadValue("--picture", value, "the name of a file, such as out.svg");
}

absl::Status SetWrappers(Options* options) {
  options->selection.wrappers = true;
  return absl::OkStatus();
}

heap::LabelSelection& LabelsOf(Options* options) { return options->selection.labels; }

absl::Status AddFile(const std::string& name, Options* options) {
  options->files.push_back(name);
  return absl::OkStatus();
}

using List = std::vector<Option<Options>>;

// --- The parts of the tables that both commands have.

List Metrics() {
  return {{"--metric", OneOf(kMeasures), "",
           "what rows are of: all that was allocated, what is live, what was live when most was, "
           "what died at once, the number of blocks; of managed heaps what outlived a collection "
           "of the young, and what did not.  Default live, or peak where little is live",
           SetMetric},
          {"--blocks", "blocks instead of bytes, of any metric", &Options::blocks}};
}

List Selections() {
  return List{{"--focus", "RE", "", "only stacks with such a function or file",
               [](const std::string& value, Options* options) {
                 return AddPattern("--focus", value, &options->selection.focus);
               }},
              {"--ignore", "RE", "", "only stacks without such a function or file",
               [](const std::string& value, Options* options) {
                 return AddPattern("--ignore", value, &options->selection.ignore);
               }},
              {"--exclude", "RE", "", "such frames are left out: their callers are charged",
               [](const std::string& value, Options* options) {
                 return AddPattern("--exclude", value, &options->selection.exclude);
               }},
              {"--wrappers", "amounts stay with functions that only pass memory on", SetWrappers}} +
         load::LabelOptions(
             "a row for each value of a label, for each C++ type, or for each source of memory "
             "(malloc, managed heap, custom memory); with --leaks, which of them grew; with "
             "--view=tree, "
             "callers, functions or lines, the value is the outermost frame",
             &Options::by_label, LabelsOf);
}

List Outputs() {
  return {
      {"--format", OneOf(kFormats), "table", "for people, or exact numbers for programs.",
       [](const std::string& value, Options* options) {
         Format format = Format::kTable;
         const absl::Status status = Choose(kFormats, "--format", value, &format);
         return status.ok() ? SetFormat(format, options) : status;
       }},
      {"--json", "short for --format=json",
       [](Options* options) { return SetFormat(Format::kJson, options); }},
      {"--csv", "short for --format=csv",
       [](Options* options) { return SetFormat(Format::kCsv, options); }},
      {"--max-bytes", "BYTES", "", "of --json: rows are left out, the smallest first; 16k or more",
       SetMostBytes},
      {"--top", "N", "what fits the terminal, 20 elsewhere; of --json, --csv: all", "rows; 0: all.",
       [](const std::string& value, Options* options) {
         return options::ParseTop(value, &options->top.emplace());
       }},
      {"--width", "N", "the terminal's, as many as it takes elsewhere",
       "columns; 0: as many as it takes, and whole names.",
       [](const std::string& value, Options* options) {
         return options::ParseWidth(value, &options->width.emplace());
       }},
      {"--color", OneOf(kColors), "", "auto: on a terminal, unless NO_COLOR is set",
       [](const std::string& value, Options* options) {
         return Choose(kColors, "--color", value, &options->color);
       }},
      load::DebugDirOption(&Options::name_sources)};
}

Option<Options> Sort(const char* meaning) {
  return {"--sort", OneOf(kSortKeys), "", meaning, [](const std::string& value, Options* options) {
            return Choose(kSortKeys, "--sort", value, &options->sort.emplace());
          }};
}

absl::Status SetWhy(const std::string& value, Options* options) {
  options->why = value;
  return AddPattern("--why", value, &options->selection.focus);
}

Option<Options> Picture() {
  return {"--picture", "FILE", "", "also an SVG picture: areas by what functions used, and bars",
          SetPicture};
}

constexpr char kStacksTitle[] = "Of recordings, pprof files and other profiles with call stacks";
constexpr char kMlmonTitle[] = "Of mlmon.out";
constexpr char kSortMeaning[] =
    "by what functions used themselves, with what they called, by the collector meanwhile (of "
    "mlmon.out); or by name";

options::CommandText ReportText() {
  options::CommandText text;
  text.name = "report";
  text.summary = "show what functions allocated, how long they ran, how often";
  text.usages = {"[options] [PROGRAM] [FILE ...]", "--view=pages [options] PID"};
  text.description = {
      "Shows what each function allocated, how long it ran or how often it was called; several "
      "profiles add up.  FILE is a recording, a pprof file or another profile with call stacks, "
      "or an mlmon.out, which is the default; or the id of a process that records.",
      "--view=pages takes a process in the place of files: it shows whose blocks keep pages of "
      "its heap that are mostly free.",
      "Of an mlmon.out, PROGRAM is what was profiled, or its mlmon.out.sources; without it the "
      "file beside the profile, then a program there that knows the profile's functions."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "shown"}, {"2", "bad input, and one line on standard error says which"}};
  text.examples = {
      {"allomon report allomon.server.17.pb.gz", "the functions that most memory comes from"},
      {"allomon report --view=tree --focus=Parse x.pb.gz",
       "what is allocated on the way through functions named like Parse"},
      {"allomon report ./server mlmon.out --picture=out.svg",
       "a profile without stacks, and a picture of it"}};
  text.manual = "tools/report/README.md, tools/report/views/README.md";
  return text;
}

options::CommandText DiffText() {
  options::CommandText text;
  text.name = "diff";
  text.summary = "show which functions changed from one profile to another";
  text.usages = {"[options] BEFORE AFTER", "[options] [PROGRAM ...] BEFORE AFTER"};
  text.description = {
      "Shows which rows truly changed from one heap profile to another, and which differ by "
      "chance of sampling.  The id of a process that records stands for its profile.  Two files "
      "mlmon.out, which have no chance in them, are compared as "
      "by allomon report --diff."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "compared"},
                   {"1", "a row grew, with --fail-on-growth"},
                   {"2", "bad input, or nothing tells growth from chance, with that option"}};
  text.examples = {{"allomon diff --fail-on-growth old.pb.gz new.pb.gz",
                    "a check for a script: 1 if a function allocates more than it did"}};
  text.manual = "tools/report/views/README.md";
  return text;
}

options::CommandText LeaksText() {
  options::CommandText text;
  text.name = "leaks";
  text.summary = "show memory of a process that nothing refers to any more";
  text.usages = {"[options] PID"};
  text.description = {
      "Shows the sampled live blocks of a running process that neither its registers, stacks and "
      "data nor any other block refers to.  The process stands while its memory is copied, and "
      "goes on while the copy is searched.",
      "It needs the rights of a debugger (ptrace_scope), a process that records, and mimalloc "
      "2.0.9 or 3.0.1 underneath."};
  text.words = options::Words::kProcess;
  text.statuses = {{"0", "something refers to each sampled block; or paths or roots are shown"},
                   {"1", "some blocks are shown, to which nothing does"},
                   {"2", "bad input, or the process may not be read"}};
  text.examples = {{"allomon leaks 4711", "the functions whose blocks process 4711 has lost"},
                   {"allomon leaks --by=label:tenant 4711", "for which tenants"},
                   {"allomon leaks --roots 4711", "which memory was searched for references"},
                   {"allomon leaks --why=Registry::Add 4711",
                    "which variables lead to blocks of Registry::Add"}};
  text.manual = "tools/leaks/README.md";
  return text;
}

// --- Files that have no use for an option.

// An mlmon.out shows this without being asked.
bool IsSoAnyhow(const options::Given& given) {
  return (given.name == "--metric" && (given.value == "alloc" || given.value == "live")) ||
         (given.name == "--view" && given.value == "functions");
}

absl::Status NotForStacks(const options::Given& given) {
  if (given.name == "--diff") {
    return Bad("--diff is for mlmon.out: heap profiles are compared by allomon diff A B");
  }
  if (given.name == "--sort") {
    return Bad("--sort is for mlmon.out: rows of heap profiles are in the order of their change");
  }
  return Bad(given.name +
             " is for mlmon.out: pictures of heap profiles are made by allomon flame FILE -o "
             "x.html");
}

}  // namespace

std::string SelectingOptions(const Options& options) {
  constexpr std::string_view kSelecting[] = {
      "--born",     "--outlived",   "--focus",       "--ignore",       "--exclude",
      "--wrappers", "--by",         "--focus-label", "--ignore-label", "--debug-dir",
      "--symbols",  "--debuginfod", "--direct",      "--suppressions"};
  std::string words;
  for (const options::Given& given : options.given) {
    if (std::count(std::begin(kSelecting), std::end(kSelecting), given.name) == 0) continue;
    words += " " + ShellWord(given.name + (given.value.empty() ? "" : "=" + given.value));
  }
  return words;
}

std::string ViewName(View view) {
  for (const Choice<View>& choice : kViews) {
    if (choice.value == view) return std::string(choice.word);
  }
  for (const Choice<View>& choice : kOtherViews) {
    if (choice.value == view) return std::string(choice.word);
  }
  return "";
}

const options::Command<Options>& TableOf(Command command) {
  static const options::Command<Options> report(
      ReportText(),
      {{"", List{Sort(kSortMeaning)} + Outputs()},
       {kStacksTitle,
        Metrics() +
            List{{"--view", options::Argument("VIEW", OneOf(kViews).choices), "functions",
                  "what rows are: functions, tree, callers, lines, sizes, types, unused, threads, "
                  "modules, lifetimes or ages; of a process that runs also pages.",
                  SetView},
                 {"--timeline", "what was live, over time",
                  [](Options* options) { return SetOnlyView(View::kTimeline, options); }},
                 {"--leaks",
                  "what grew and did not die; of a process that runs also what nothing refers to",
                  [](Options* options) { return SetOnlyView(View::kLeaks, options); }},
                 {"--source", "FUNCTION", "", "the function's source with amounts beside its lines",
                  SetSource},
                 load::BornOption(&Options::born),
                 load::OutlivedOption(&Options::outlived)} +
            Selections() + load::NamesFromElsewhere(&Options::name_sources),
        kWithStacks},
       {kMlmonTitle,
        {{"--diff", "growth of each function from one profile to another", &Options::diff},
         Picture()},
        kOfMlmon}},
      AddFile);
  static const options::Command<Options> diff(
      DiffText(),
      {{"", Outputs()},
       {kStacksTitle,
        Metrics() +
            List{{"--view", OneOf(kComparedViews), "functions", "what rows are.", SetComparedView},
                 {"--fail-on-growth", "status 1 if a row grew", &Options::fail_on_growth}} +
            Selections() + load::NamesFromElsewhere(&Options::name_sources),
        kWithStacks},
       {kMlmonTitle, {Sort(kSortMeaning), Picture()}, kOfMlmon}},
      AddFile);
  static const options::Command<Options> leaks(
      LeaksText(),
      {{"", Outputs() + load::NamesFromElsewhere(&Options::name_sources)},
       {"What is shown",
        List{{"--view", OneOf(kViewsOfLive), "functions", "what rows are.", SetView},
             {"--blocks", "blocks instead of bytes", &Options::blocks},
             {"--direct", "without blocks to which other lost ones lead", &Options::only_direct},
             {"--suppressions", "FILE", "",
              "without stacks that its lines leak:TEXT name, as those of the leak sanitizer; again "
              "for more files",
              [](const std::string& value, Options* options) {
                options->suppressions.push_back(value);
                return absl::OkStatus();
              }},
             {"--roots",
              "instead, where the search begins, and what it leaves out: a block that only such "
              "memory refers to is shown although it is alive",
              &Options::roots},
             {"--why", "FUNCTION", "",
              "instead, what keeps blocks alive that functions like this "
              "allocated: paths of references from roots",
              SetWhy}} +
            Selections()}},
      AddFile);
  if (command == Command::kLeaks) return leaks;
  return command == Command::kReport ? report : diff;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args, Command command) {
  auto parsed = TableOf(command).Parse(args);
  if (!parsed.ok()) return parsed;
  const absl::Status status = load::CheckOutput("--picture", parsed->picture, parsed->files);
  if (!status.ok()) return status;
  const bool is_born = !parsed->born.is_all(), is_outlived = parsed->outlived.is_asked;
  if (is_born && is_outlived) return Bad("--born and --outlived: give one of them");
  const bool is_of_live = parsed->view == View::kLeaks || parsed->view == View::kAges;
  const bool is_other = parsed->metric.has_value() && parsed->metric != heap::Metric::kLive;
  if ((is_of_live && is_other) ||
      (parsed->view == View::kLifetimes && parsed->metric.has_value())) {
    return Bad(
        "--leaks and --view=ages are of what is live, --view=lifetimes of what died: leave out "
        "--metric");
  }
  const bool is_of_all = parsed->view == View::kLeaks || parsed->view == View::kTimeline ||
                         parsed->view == View::kUnused;
  if (command == Command::kLeaks && parsed->view == View::kPages) {
    return Bad("--view=pages is a view of allomon report: allomon report --view=pages PID");
  }
  if ((is_born || is_outlived) && parsed->view == View::kPages) {
    return Bad("--born, --outlived: --view=pages is of all blocks that lie on their pages");
  }
  if (parsed->view == View::kPages && (parsed->metric.has_value() || parsed->blocks)) {
    return Bad("--view=pages is of bytes beside live blocks: leave out --metric and --blocks");
  }
  if (is_born && is_of_all)
    return Bad("--born: --leaks, --timeline and --view=unused are of blocks of all ages");
  if (is_outlived && is_of_all)
    return Bad("--outlived: --leaks, --timeline and --view=unused are of all blocks");
  return parsed;
}

absl::Status CheckInputs(const Options& options, unsigned kind, const std::string& file) {
  for (const options::Given& given : options.given) {
    if (kind == kWithStacks && given.inputs == 0 && given.name == "--sort" && given.value == "gc") {
      return Bad("--sort=gc is for mlmon.out: sort by cur, stack or name");
    }
    if (given.inputs == 0 || (given.inputs & kind) != 0) continue;
    if (kind == kWithStacks) return NotForStacks(given);
    if (IsSoAnyhow(given)) continue;
    return Bad(file + " has no call stacks, times or sizes for " + given.word +
               ": record the program with allomon run -- PROGRAM");
  }
  return absl::OkStatus();
}

}  // namespace allomon::views
