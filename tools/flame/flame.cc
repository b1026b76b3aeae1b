#include "tools/flame/flame.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "tools/flame/frame_tree.h"
#include "tools/flame/page.h"
#include "tools/heap/computed_label.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/heap/program_name.h"
#include "tools/load/load.h"
#include "tools/load/profile_options.h"
#include "tools/options/choices.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/pages/held_pages.h"
#include "tools/pages/unused_blocks.h"
#include "tools/text/plain_text.h"
#include "tracker/formats/write_file.h"
#include "tracker/names/base_name.h"

namespace allomon::flame {
namespace {

constexpr char kHostage[] = "hostage";
constexpr char kUnused[] = "unused";
// What is live of ended scopes: --outlived by another name.
constexpr char kOutlived[] = "outlived";

// Metrics of files, and those of a process.
options::Argument Metrics() {
  options::Argument metrics = options::OneOf(load::kMetrics);
  for (const char* const name : {kOutlived, kHostage, kUnused}) {
    metrics.name += std::string("|") + name;
    metrics.choices.push_back({name, ""});
  }
  return metrics;
}

heap::LabelSelection& LabelsOf(Options* options) { return options->labels; }

absl::Status SetMetric(const std::string& value, Options* options) {
  options->of_process = value == kHostage || value == kUnused ? value : "";
  if (value == kOutlived) {
    options->outlived.is_asked = true;
    return absl::OkStatus();
  }
  if (!options->of_process.empty()) return absl::OkStatus();
  if (options::Choose(load::kMetrics, "--metric", value, &options->metric.emplace()).ok()) {
    return absl::OkStatus();
  }
  return options::BadValue("--metric", value, options::InWords(Metrics().choices));
}

absl::Status AddFile(const std::string& name, Options* options) {
  options->files.push_back(name);
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  if (options.files.empty()) {
    return options::Bad("no profile to show; name the file that allomon run wrote");
  }
  std::vector<std::string> files = options.files;
  if (!options.before.empty()) files.push_back(options.before);
  if (options.of_process.empty()) return load::CheckOutput("-o", options.out, files);
  const std::string& word = options.files[0];
  if (options.files.size() > 1 || word.find_first_not_of("0123456789") != std::string::npos) {
    return options::Bad("--metric=" + options.of_process +
                        " is of one process that runs: name it by its id");
  }
  if (!options.before.empty() || !options.born.is_all() || options.outlived.is_asked) {
    return options::Bad("--metric=" + options.of_process +
                        ": leave out --diff, --born and --outlived");
  }
  return absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "flame";
  text.summary = "write an interactive flame graph as an HTML file";
  text.usages = {"[options] FILE...", "--metric=hostage|unused [options] PID"};
  text.description = {
      "Writes an interactive flame graph of heap profiles: one HTML file that loads nothing.  "
      "Several profiles add up.  The id of a process that records stands for its profile, and of "
      "it, --metric=hostage shows which live blocks keep pages "
      "of its heap that are mostly free, and --metric=unused what of its live blocks was never "
      "used."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "written"}, {"2", "bad input, and one line on standard error says which"}};
  text.examples = {
      {"allomon flame -o server.html allomon.server.17.pb.gz",
       "what the server's memory was made of at its peak"},
      {"allomon flame --diff=old.pb.gz new.pb.gz", "red is what grew since old.pb.gz"}};
  text.manual = "tools/flame/README.md";
  return text;
}

using heap::Metric;

// Metrics by how likely readers want them, the likeliest first.
constexpr Metric kPreferred[] = {Metric::kPeak, Metric::kLive, Metric::kAllocated};

std::string OneLine(std::string_view text) { return Printable(text, Charset::kUtf8); }

CommandResult BadInput(const std::string& line) {
  return {2, "", "allomon flame: " + OneLine(line) + "\n"};
}

CommandResult BadInput(const absl::Status& status) {
  return BadInput(std::string(status.message()));
}

absl::StatusOr<heap::HeapProfile> LoadFile(const std::string& path,
                                           const NameSources& name_sources) {
  load::LoadOptions options;
  options.name_sources = name_sources;
  return load::LoadHeapProfile(path, options);
}

absl::StatusOr<heap::HeapProfile> LoadChosen(const std::string& file, const Options& options,
                                             const Loader& load) {
  auto profile = load(file, options.name_sources);
  if (!profile.ok()) return profile;
  const std::string why_not =
      heap::KeepChosen(options.born, options.outlived, options.labels, options.by_label, &*profile);
  if (!why_not.empty()) return absl::InvalidArgumentError(file + ": " + why_not);
  return profile;
}

absl::StatusOr<Profiles> Load(const Options& options, const Loader& load) {
  Profiles profiles;
  for (const std::string& file : options.files) {
    auto profile = LoadChosen(file, options, load);
    if (!profile.ok()) return profile.status();
    if (!profiles.shown.empty()) {
      const std::string why_not = load::WhyNotOneProgram(profiles.shown.front().profile, *profile);
      if (!why_not.empty()) return absl::InvalidArgumentError(file + " " + why_not);
    }
    profiles.shown.push_back({file, *std::move(profile)});
  }
  if (options.before.empty()) return profiles;
  auto before = LoadChosen(options.before, options, load);
  if (!before.ok()) return before.status();
  profiles.before.push_back({options.before, *std::move(before)});
  return profiles;
}

std::string NamesOf(const std::vector<Metric>& metrics) {
  std::string names;
  for (const Metric metric : metrics) {
    names += (names.empty() ? "" : ", ") + std::string(heap::MetricName(metric));
  }
  return names;
}

bool IsIn(const std::vector<Metric>& metrics, Metric metric) {
  return std::count(metrics.begin(), metrics.end(), metric) > 0;
}

absl::StatusOr<Metric> ChooseMetric(std::optional<Metric> wanted, const Profiles& profiles) {
  const std::vector<Metric> metrics = CommonMetrics(profiles);
  if (metrics.empty()) {
    return absl::InvalidArgumentError(profiles.shown[0].file +
                                      ": nothing to show; the profiles have no metric in common");
  }
  if (wanted.has_value()) {
    if (IsIn(metrics, *wanted)) return *wanted;
    return absl::InvalidArgumentError(std::string("--metric=") + heap::MetricName(*wanted) +
                                      ": not in the profile; there is " + NamesOf(metrics));
  }
  for (Metric preferred : kPreferred) {
    if (IsIn(metrics, preferred)) return preferred;
  }
  return metrics[0];
}

std::string TitleOf(const std::string& title, const Profiles& profiles) {
  if (!title.empty()) return title;
  const NamedProfile& first = profiles.shown[0];
  const std::string name = heap::ProgramName(first.profile.program, first.profile.command);
  return name.empty() ? std::string(BaseName(first.file)) : name;
}

std::string SizeText(size_t bytes) {
  char text[32];
  const double kibibytes = static_cast<double>(bytes) / 1024;
  const bool is_large = kibibytes >= 1024;
  snprintf(text, sizeof text, is_large ? "%.1f MiB" : "%.0f KiB",
           is_large ? kibibytes / 1024 : std::ceil(kibibytes));
  return text;
}

void KeepOneMetric(heap::HeapProfile* profile) {
  profile->has = {};
  profile->has[static_cast<size_t>(Metric::kLive)] = true;
}

// The only metric of such a profile is what live blocks hold of their pages.
absl::StatusOr<heap::HeapProfile> LoadPages(const std::string& process,
                                            const NameSources& name_sources) {
  auto profile = pages::ReadHeldPages(process, name_sources);
  if (!profile.ok()) return profile;
  profile->notes.push_back("free blocks in pages with live ones: " +
                           SizeText(static_cast<size_t>(profile->pages->free_bytes)) +
                           " by the allocator's own walk");
  KeepOneMetric(&*profile);
  return profile;
}

// The only metric of such a profile is the bytes of live blocks that were never used.
absl::StatusOr<heap::HeapProfile> LoadUnused(const std::string& process,
                                             const NameSources& name_sources) {
  auto profile = pages::ReadUnusedBlocks(process, name_sources);
  if (!profile.ok()) return profile;
  const auto seen = static_cast<uint64_t>(profile->contents->seen_blocks);
  profile->notes.push_back("by the contents of " + std::to_string(seen) + " sampled blocks");
  KeepOneMetric(&*profile);
  return profile;
}

Loader LoaderOf(const Options& options, const Loader& of_files) {
  if (options.of_process == kHostage) return LoadPages;
  return options.of_process == kUnused ? LoadUnused : of_files;
}

CommandResult Write(const Options& options, const std::string& page) {
  std::string error;
  if (!WriteFileAtomically(options.out, page, kPrivateMode, &error)) return BadInput(error);
  return {0, OneLine(options.out) + ": " + SizeText(page.size()) + ", open it in a browser\n", ""};
}

}  // namespace

const options::Command<Options>& FlameCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--diff", "FILE", "",
          "compares with an earlier profile: what grew since is red, what shrank is blue",
          &Options::before},
         {"--metric", Metrics(), "peak, or what there is", "what is shown first.", SetMetric},
         {"--title", "TEXT", "the program's name", "the title of the page.", &Options::title},
         {"-o, --output", "FILE", "allomon.html", "the page; replaced if it exists.",
          &Options::out},
         load::BornOption(&Options::born),
         load::OutlivedOption(&Options::outlived)}},
       {"", load::NameOptions(&Options::name_sources)},
       {"", load::LabelOptions(
                "the outermost frames are the values of a label, C++ types, or sources of "
                "memory",
                &Options::by_label, LabelsOf)}},
      AddFile, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return FlameCommand().Parse(args);
}

absl::StatusOr<std::string> RenderPage(const Profiles& profiles, const std::string& title,
                                       std::optional<Metric> metric) {
  const auto chosen = ChooseMetric(metric, profiles);
  if (!chosen.ok()) return chosen.status();
  const PageChoices choices = {TitleOf(title, profiles), *chosen};
  const auto data = PageData(profiles, choices);
  if (!data.ok()) return data.status();
  return HtmlPage(choices.title, *data);
}

const options::CommandText& FlameText() { return FlameCommand().Text(); }

CommandResult RunFlame(const std::vector<std::string>& args) {
  return RunFlameWith(LoadFile, args);
}

CommandResult RunFlameWith(const Loader& load, const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  if (!options.ok()) return BadInput(options.status());
  const auto answer = options::AnswerTo(*options, FlameCommand().Text());
  if (answer.has_value()) return *answer;
  const auto profiles = Load(*options, LoaderOf(*options, load));
  if (!profiles.ok()) return BadInput(profiles.status());
  const auto page = RenderPage(*profiles, options->title, options->metric);
  if (!page.ok()) return BadInput(page.status());
  return Write(*options, *page);
}

}  // namespace allomon::flame
