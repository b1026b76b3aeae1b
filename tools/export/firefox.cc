// Writes the Firefox Profiler's processed profile: a thread with native allocations for each
// metric, a memory track, and a marker at the peak.
//
// The version is an older one, which the viewer upgrades when it loads the file, so that viewers of
// that version and later ones read it.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/firefox_tables.h"
#include "tools/export/frames.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/named_stacks.h"
#include "tools/heap/program_name.h"
#include "tracker/formats/version.h"

namespace allomon::interchange {
namespace {

using firefox::Fill;
using firefox::StackTree;
using firefox::Texts;
using heap::HeapProfile;
using heap::Metric;

constexpr int kProcessedVersion = 60;
constexpr int kGeckoVersion = 31;  // of the same time
constexpr double kMillisPerSecond = 1e3;
constexpr int kIntervalMillis = 1;
constexpr double kMostMillis = 1e12;
constexpr double kMostBytes = 9e15;  // whole numbers of JavaScript
constexpr int kLibrary = 1;          // a type of resource
constexpr int kInstant = 0;          // a phase of markers
constexpr char kPeakMarker[] = "allomon-peak";

double Bounded(double value, double most) { return value > 0 ? std::min(value, most) : 0; }
double Millis(double seconds) { return Bounded(seconds * kMillisPerSecond, kMostMillis); }

class Writer {
 public:
  Writer(const HeapProfile& profile, Metric first)
      : profile_(profile),
        first_(first),
        stacks_(StacksOf(profile, Detail::kLines)),
        functions_(FunctionsOf(stacks_)),
        end_(EndOf(profile)),
        has_peak_(!profile.is_sum && Has(profile, Metric::kPeak)) {
    for (const Stack& stack : stacks_.stacks) nodes_.push_back(tree_.Add(stack.frames));
  }

  Json Write() {
    Json threads = Json::array();
    threads.push_back(ThreadJson(first_, 0));
    for (size_t i = 0; i < heap::kMetrics; ++i) {
      const auto metric = static_cast<Metric>(i);
      if (profile_.has[i] && metric != first_)
        threads.push_back(ThreadJson(metric, threads.size()));
    }
    Json counters = Json::array();
    if (!profile_.timeline.empty()) counters.push_back(CounterJson());
    Json meta = MetaJson(threads.size());
    return {{"meta", std::move(meta)},
            {"libs", LibsJson()},
            {"counters", std::move(counters)},
            {"threads", std::move(threads)},
            {"shared", SharedJson()}};
  }

 private:
  // ---- Times

  static double EndOf(const HeapProfile& profile) {
    double end = Millis(profile.duration_seconds);
    if (!profile.timeline.empty()) end = std::max(end, Millis(profile.timeline.back().seconds));
    return end;
  }
  double PeakMillis() const { return std::min(Millis(profile_.peak_seconds), end_); }

  // ---- Threads

  Json ThreadJson(Metric metric, size_t number) {
    const bool is_main = number == 0;
    Json thread = {{"name", heap::MetricName(metric)},
                   {"isMainThread", is_main},
                   {"processType", "default"},
                   {"processName", Name()},
                   {"processStartupTime", 0},
                   {"processShutdownTime", end_},
                   {"registerTime", 0},
                   {"unregisterTime", nullptr},
                   {"pausedRanges", Json::array()},
                   {"showMarkersInTimeline", is_main},
                   {"pid", std::to_string(profile_.pid)},
                   {"tid", number},
                   {"samples", SamplesJson()},
                   {"markers", MarkersJson(is_main && has_peak_)}};
    Json allocations = AllocationsJson(metric);
    if (allocations["length"] != 0) thread["nativeAllocations"] = std::move(allocations);
    return thread;
  }

  // The viewer shows allocations first if there are no samples of time.
  static Json SamplesJson() {
    return {{"stack", Json::array()},
            {"time", Json::array()},
            {"weight", nullptr},
            {"weightType", "samples"},
            {"length", 0}};
  }

  // The form without addresses, since estimates are of no single blocks.  What a range of the
  // memory track selects was live at the peak, or at the end and born in the range; what was
  // allocated and has died counts at the end.
  Json AllocationsJson(Metric metric) const {
    std::vector<double> times;
    std::vector<uint32_t> nodes;
    std::vector<int64_t> weights;
    for (const auto& [time, node, bytes] : RowsOf(metric)) {
      times.push_back(time);
      nodes.push_back(node);
      weights.push_back(bytes);
    }
    return {{"time", times},
            {"stack", nodes},
            {"weight", weights},
            {"weightType", "bytes"},
            {"length", nodes.size()}};
  }

  using Row = std::tuple<double, uint32_t, int64_t>;  // milliseconds, node, bytes

  // In the order of time.
  std::vector<Row> RowsOf(Metric metric) const {
    std::vector<Births> births(stacks_.stacks.size());
    if (metric == Metric::kLive && !profile_.is_sum) births = BirthsOfStacks();
    std::vector<Row> rows;
    for (size_t i = 0; i < stacks_.stacks.size(); ++i) {
      const double last = metric == Metric::kPeak ? PeakMillis() : end_;
      AddRows(births[i], stacks_.stacks[i][metric].bytes, last, nodes_[i], &rows);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  using Births = std::map<double, double>;  // bytes by milliseconds

  std::vector<Births> BirthsOfStacks() const {
    std::vector<Births> births(stacks_.stacks.size());
    for (size_t i = 0; i < profile_.samples.size(); ++i) {
      for (const heap::AgeCell& cell : profile_.samples[i].ages) {
        const heap::Born ages = heap::AgesOf(cell);
        const double age = Millis((ages.youngest_seconds + ages.oldest_seconds) / 2);
        births[stacks_.stack_of_sample[i]][std::max(end_ - age, 0.0)] +=
            Bounded(cell.amount.bytes, kMostBytes);
      }
    }
    return births;
  }

  // Rounds so that the rows of a stack add up to its bytes.  What no cell has counts at the end.
  static void AddRows(const Births& births, int64_t bytes, double last, uint32_t node,
                      std::vector<Row>* rows) {
    double sum = 0;
    int64_t given = 0;
    for (const auto& [time, part] : births) {
      sum += part;
      const int64_t until = std::min(std::llround(sum), static_cast<long long>(bytes));
      if (until > given) rows->emplace_back(time, node, until - given);
      given = std::max(given, until);
    }
    if (bytes > given) rows->emplace_back(last, node, bytes - given);
  }

  Json MarkersJson(bool has_peak) {
    Json markers = {{"data", Json::array()}, {"name", Json::array()}, {"startTime", Json::array()}};
    if (has_peak) {
      markers["data"].push_back(
          {{"type", kPeakMarker}, {"bytes", stacks_.Total(Metric::kPeak).bytes}});
      markers["name"].push_back(texts_.Add("peak"));
      markers["startTime"].push_back(PeakMillis());
    }
    const size_t length = markers["data"].size();
    Fill(length, nullptr, {"endTime"}, &markers);
    Fill(length, kInstant, {"phase"}, &markers);
    Fill(length, 0, {"category"}, &markers);
    return markers;
  }

  // ---- The memory track: differences between neighbours.  The first value of the timeline is 0.

  Json CounterJson() const {
    std::vector<double> times, counts;
    double last_bytes = 0;
    const auto add = [&](double millis, double bytes) {
      millis = std::min(std::max(millis, times.empty() ? 0 : times.back()), end_);
      bytes = std::round(Bounded(bytes, kMostBytes));
      times.push_back(millis);
      counts.push_back(bytes - last_bytes);
      last_bytes = bytes;
    };
    const double peak = profile_.peak_seconds;
    for (size_t i = 0; i < profile_.timeline.size(); ++i) {
      const heap::TimelinePoint& point = profile_.timeline[i];
      // Most was live between two points: the track gets a third.
      if (has_peak_ && i > 0 && profile_.timeline[i - 1].seconds < peak && peak < point.seconds) {
        add(Millis(peak), point.most_live_bytes);
      }
      add(Millis(point.seconds), point.live_bytes);
    }
    return {{"name", "malloc"},
            {"category", "Memory"},
            {"description", "Live memory, as estimated"},
            {"pid", std::to_string(profile_.pid)},
            {"mainThreadIndex", 0},
            {"samples", {{"time", times}, {"count", counts}, {"length", times.size()}}}};
  }

  // ---- Code

  Json LibsJson() const {
    Json libs = Json::array();
    for (const heap::Mapping& mapping : profile_.mappings) {
      const std::string name = mapping.path.substr(mapping.path.rfind('/') + 1);
      libs.push_back(
          {{"arch", ""},
           {"name", name},
           {"path", mapping.path},
           {"debugName", name},
           {"debugPath", mapping.path},
           {"breakpadId", ""},
           {"codeId", mapping.build_id.empty() ? Json(nullptr) : Json(mapping.build_id)}});
    }
    return libs;
  }

  Json SharedJson() {
    Json functions = FunctionsJson();  // before the texts
    Json resources = ResourcesJson();
    Json sources = SourcesJson();
    Json symbols = {};
    Fill(0, nullptr, {"libIndex", "address", "name", "functionSize"}, &symbols);
    return {{"stackTable", std::move(tree_).ToJson()},
            {"frameTable", FramesJson()},
            {"funcTable", std::move(functions)},
            {"resourceTable", std::move(resources)},
            {"nativeSymbols", std::move(symbols)},
            {"sources", std::move(sources)},
            {"stringArray", texts_.All()}};
  }

  Json FramesJson() const {
    Json table = {{"func", functions_.of_frame}};
    Json lines = Json::array();
    for (const Frame& frame : stacks_.frames) {
      lines.push_back(frame.line == 0 ? Json(nullptr) : Json(frame.line));
    }
    table["line"] = std::move(lines);
    const size_t length = stacks_.frames.size();
    Fill(length, -1, {"address"}, &table);
    Fill(length, 0, {"inlineDepth", "category", "subcategory"}, &table);
    Fill(length, nullptr, {"nativeSymbol", "innerWindowID", "column"}, &table);
    return table;
  }

  Json FunctionsJson() {
    std::vector<uint32_t> names;
    std::vector<int64_t> resources;
    Json sources = Json::array(), lines = Json::array();
    for (const uint32_t first : functions_.first_frame) {
      const Frame& frame = stacks_.frames[first];
      names.push_back(texts_.Add(frame.name));
      resources.push_back(frame.mapping < profile_.mappings.size() ? int64_t{frame.mapping} : -1);
      sources.push_back(frame.file.empty() ? Json(nullptr) : Json(files_.Add(frame.file)));
      lines.push_back(frame.start_line == 0 ? Json(nullptr) : Json(frame.start_line));
    }
    Json table = {{"name", names},
                  {"resource", resources},
                  {"source", std::move(sources)},
                  {"lineNumber", std::move(lines)}};
    Fill(names.size(), false, {"isJS", "relevantForJS"}, &table);
    Fill(names.size(), nullptr, {"columnNumber"}, &table);
    return table;
  }

  // One for each mapping.
  Json ResourcesJson() {
    std::vector<uint32_t> libs, names;
    for (const heap::Mapping& mapping : profile_.mappings) {
      libs.push_back(static_cast<uint32_t>(libs.size()));
      names.push_back(texts_.Add(mapping.path.substr(mapping.path.rfind('/') + 1)));
    }
    Json table = {{"lib", libs}, {"name", names}};
    Fill(libs.size(), nullptr, {"host"}, &table);
    Fill(libs.size(), kLibrary, {"type"}, &table);
    return table;
  }

  Json SourcesJson() {
    std::vector<uint32_t> names;
    for (const std::string& file : files_.All()) names.push_back(texts_.Add(file));
    Json table = {{"filename", names}};
    Fill(names.size(), nullptr, {"uuid"}, &table);
    return table;
  }

  // ---- The whole

  std::string Name() const {
    const std::string name = heap::ProgramName(profile_.program, profile_.command);
    return name.empty() ? "heap profile" : name;
  }

  Json MetaJson(size_t threads) const {
    std::vector<size_t> visible;
    for (size_t i = 0; i < threads; ++i) visible.push_back(i);
    const double start = Bounded(static_cast<double>(profile_.start_unix_nanos) / 1e6, kMostBytes);
    return {{"version", kGeckoVersion},
            {"preprocessedProfileVersion", kProcessedVersion},
            {"product", Name()},
            {"importedFrom", std::string("allomon ") + kVersion},
            {"arguments", profile_.command},
            {"processType", 0},
            {"stackwalk", 1},
            {"interval", kIntervalMillis},
            {"startTime", start},
            {"profilingStartTime", 0},
            {"profilingEndTime", end_ + kIntervalMillis},  // behind what is live at the end
            {"symbolicated", true},
            {"usesOnlyOneStackType", true},
            {"sourceCodeIsNotOnSearchfox", true},
            {"keepProfileThreadOrder", true},
            {"initialVisibleThreads", visible},
            {"initialSelectedThreads", {0}},
            {"categories", {{{"name", "Other"}, {"color", "grey"}, {"subcategories", {"Other"}}}}},
            {"markerSchema", Json::array({PeakSchema()})}};
  }

  static Json PeakSchema() {
    return {{"name", kPeakMarker},
            {"tooltipLabel", "Most live memory"},
            {"tableLabel", "{marker.data.bytes} live"},
            {"chartLabel", "peak"},
            {"display", {"marker-chart", "marker-table", "timeline-overview", "timeline-memory"}},
            {"fields", Json::array({{{"key", "bytes"}, {"label", "Live"}, {"format", "bytes"}}})}};
  }

  const HeapProfile& profile_;
  const Metric first_;
  const Stacks stacks_;
  const Functions functions_;
  const double end_;
  const bool has_peak_;
  std::vector<uint32_t> nodes_;  // in the tree, by stack
  StackTree tree_;
  Texts texts_, files_;
};

}  // namespace

Exported ToFirefox(const HeapProfile& profile, Metric metric) {
  return OneFile(JsonText(Writer(profile, metric).Write()));
}

}  // namespace allomon::interchange
