#include "tools/gate/figures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "tools/gate/profile.h"
#include "tools/mlmon/load_profile.h"

namespace allomon::gate {
namespace {

constexpr char kSites[] = "allomon_sites";

// Keys of values per iteration, and of one value for the whole pass.
constexpr char kAllocationsKey[] = "allocs_per_iter";
constexpr char kPassBytesKey[] = "total_allocated_bytes";
constexpr char kPeakBytesKey[] = "max_bytes_used";

// benchmark_runner.cc: std::min<IterationCount>(16, iters), where iters is that of one thread.
constexpr double kMaxPassIterations = 16;

absl::StatusOr<double> PassIterations(const Json& entry) {
  const auto iterations = NumberAt(entry, "iterations");
  if (!iterations.ok()) return iterations.status();
  const auto threads = NumberAt(entry, "threads");
  if (!threads.ok()) return threads.status();
  const double of_a_thread = iterations->value_or(0) / std::max(1.0, threads->value_or(1));
  return std::min(kMaxPassIterations, of_a_thread);
}

absl::Status ReadValues(const Json& entry, Figures* figures) {
  const auto iterations = PassIterations(entry);
  if (!iterations.ok()) return iterations.status();
  figures->iterations = *iterations;
  const std::pair<Metric, const char*> keys[] = {{kAllocations, kAllocationsKey},
                                                 {kBytes, kPassBytesKey},
                                                 {kPeakBytes, kPeakBytesKey},
                                                 {kInstructions, "INSTRUCTIONS"}};
  for (const auto& [metric, key] : keys) {
    const auto value = NumberAt(entry, key);
    if (!value.ok()) return value.status();
    figures->values[metric] = *value;
  }
  if (std::optional<double>& bytes = figures->values[kBytes]; bytes.has_value()) {
    if (*iterations < 1) return absl::InvalidArgumentError("iterations is missing or 0");
    *bytes /= *iterations;
  }
  return absl::OkStatus();
}

std::vector<Site> ReadBaselineSites(const Json& entry) {
  std::vector<Site> sites;
  const auto found = entry.find(kSites);
  if (found == entry.end() || !found->is_array()) return sites;
  for (const Json& written : *found) {
    if (!written.is_object()) continue;
    Site& site = sites.emplace_back();
    site.allocations = written.value("allocations", 0.0);
    site.bytes = written.value("bytes", 0.0);
    const auto calls = written.find("calls");
    if (calls == written.end() || !calls->is_array()) continue;
    for (const Json& call : *calls) {
      if (call.is_string()) site.frames.push_back({call.get<std::string>(), "", 0});
    }
  }
  return sites;
}

absl::Status Check(const Figures& figures) {
  const auto has = [](const std::optional<double>& value) { return value.has_value(); };
  if (!std::any_of(figures.values.begin(), figures.values.end(), has)) {
    return absl::InvalidArgumentError(
        "no allocation figures; give its main an allomon::BenchmarkMemoryManager");
  }
  for (const std::optional<double>& value : figures.values) {
    if (value.has_value() && !(*value >= 0)) {
      return absl::InvalidArgumentError(
          "its allocations were not counted; its standard error says why");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Figures> ReadEntry(const Json& entry) {
  Figures figures;
  figures.name = StringAt(entry, "name");
  if (entry.value("error_occurred", false)) {
    return absl::InvalidArgumentError("failed: " + StringAt(entry, "error_message"));
  }
  if (absl::Status status = ReadValues(entry, &figures); !status.ok()) return status;
  if (absl::Status status = Check(figures); !status.ok()) return status;
  figures.sites = ReadBaselineSites(entry);
  return figures;
}

// Keeps the smallest value of each figure.  Takes the sites from the repetition with the fewest
// allocations, so that sites and allocations add up.
void KeepSmallest(const Figures& repetition, Figures* figures) {
  if (repetition.values[kAllocations] < figures->values[kAllocations]) {
    figures->sites = repetition.sites;
  }
  for (int metric = 0; metric < kMetrics; ++metric) {
    const std::optional<double>& other = repetition.values[metric];
    std::optional<double>& value = figures->values[metric];
    if (other.has_value() && (!value.has_value() || *other < *value)) value = other;
  }
}

bool IsAggregate(const Json& entry) { return StringAt(entry, "run_type") == "aggregate"; }

absl::StatusOr<std::vector<Figures>> ReadEntries(const Json& entries, Profile* profile) {
  std::vector<Figures> benchmarks;
  std::map<std::string, size_t> index;
  std::set<std::pair<std::string, double>> repetitions;
  for (const Json& entry : entries) {
    if (!entry.is_object() || StringAt(entry, "name").empty()) {
      return absl::InvalidArgumentError("an entry of \"benchmarks\" has no name");
    }
    if (IsAggregate(entry)) continue;
    const std::string name = StringAt(entry, "name");
    auto figures = ReadEntry(entry);
    absl::Status status = figures.status();
    if (status.ok() && profile != nullptr) status = profile->TakePassOf(&*figures);
    if (!status.ok()) {
      return absl::InvalidArgumentError(name + ": " + std::string(status.message()));
    }
    // Repetitions of one benchmark have different numbers.
    const auto repetition = NumberAt(entry, "repetition_index");
    if (repetition.ok() && repetition->has_value() &&
        !repetitions.emplace(name, **repetition).second) {
      return absl::InvalidArgumentError(
          name +
          ": two benchmarks have this name, and the growth of one would hide behind the "
          "other; rename one");
    }
    const auto [at, is_new] = index.try_emplace(name, benchmarks.size());
    if (is_new) {
      benchmarks.push_back(*std::move(figures));
    } else {
      KeepSmallest(*figures, &benchmarks[at->second]);
    }
  }
  if (benchmarks.empty()) {
    return absl::InvalidArgumentError(
        "no benchmarks in it (only the runs themselves have allocation figures, not aggregates)");
  }
  return benchmarks;
}

// Writes 2 and not 2.0, so that a baseline reads well.
Json Number(double value) {
  if (!(std::abs(value) <= 1e15)) return value;
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json ToJson(const Site& site) {
  return {{"allocations", Number(site.allocations)},
          {"bytes", Number(site.bytes)},
          {"calls", site.Calls()}};
}

Json ToJson(const Figures& figures) {
  // The entry claims one iteration on one thread, so that a pass is an iteration.
  Json entry = {{"name", figures.name},
                {"run_name", figures.name},
                {"run_type", "iteration"},
                {"threads", 1},
                {"iterations", 1}};
  const char* const keys[kMetrics] = {kAllocationsKey, kPassBytesKey, kPeakBytesKey,
                                      "INSTRUCTIONS"};
  for (int metric = 0; metric < kMetrics; ++metric) {
    if (figures.values[metric].has_value()) entry[keys[metric]] = Number(*figures.values[metric]);
  }
  for (const Site& site : figures.sites) entry[kSites].push_back(ToJson(site));
  return entry;
}

}  // namespace

absl::Status FileError(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(path + ": " + what);
}

absl::StatusOr<Json> ReadJson(const std::string& path) {
  std::string text;
  mlprof::ReadFailure failure;
  if (!mlprof::ReadFile(path, &text, &failure)) {
    return FileError(path, std::string("cannot be read: ") + std::strerror(failure.error));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const size_t at = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + at, '\n');
    return FileError(path + ":" + std::to_string(line), "not JSON, or cut short");
  } catch (const Json::exception&) {
    return FileError(path, "a number in it is too large");
  }
}

absl::StatusOr<std::optional<double>> NumberAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::optional<double>();
  if (!found->is_number()) return absl::InvalidArgumentError(std::string(key) + " is no number");
  return std::optional<double>(found->get<double>());
}

std::string StringAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const char* NameOf(Metric metric) {
  static const char* const names[kMetrics] = {"allocations", "bytes", "peak bytes", "instructions"};
  return names[metric];
}

std::vector<std::string> Site::Calls() const {
  std::vector<std::string> calls;
  for (const Frame& frame : frames) {
    calls.push_back(frame.file.empty() ? frame.function : frame.function + " in " + frame.file);
  }
  return calls;
}

absl::StatusOr<std::vector<Figures>> ReadFigures(const std::string& path,
                                                 const std::string& profile_path) {
  const auto json = ReadJson(path);
  if (!json.ok()) return json.status();
  const auto entries = json->is_object() ? json->find("benchmarks") : json->end();
  if (entries == json->end() || !entries->is_array()) {
    return FileError(path, "not the JSON of Google Benchmark (no list \"benchmarks\")");
  }
  std::optional<Profile> profile;
  if (!profile_path.empty()) {
    auto read = Profile::Read(profile_path);
    if (!read.ok()) return read.status();
    profile = *std::move(read);
  }
  try {
    auto benchmarks = ReadEntries(*entries, profile.has_value() ? &*profile : nullptr);
    if (!benchmarks.ok()) return FileError(path, std::string(benchmarks.status().message()));
    return benchmarks;
  } catch (const Json::exception&) {
    return FileError(path, "not the JSON of Google Benchmark (a value has the wrong type)");
  }
}

std::string ToBaseline(const std::vector<Figures>& benchmarks) {
  Json entries = Json::array();
  for (const Figures& figures : benchmarks) entries.push_back(ToJson(figures));
  const Json baseline = {{"context", {{"written_by", "allomon gate --update"}}},
                         {"benchmarks", std::move(entries)}};
  return baseline.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace allomon::gate
