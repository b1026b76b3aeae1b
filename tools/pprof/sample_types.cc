#include "tools/pprof/sample_types.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "tools/text/plain_text.h"

namespace allomon::pprof {
namespace {

using heap::Metric;

struct MetricNames {
  std::string_view blocks;
  std::string_view bytes;
};

// The names in pprof files, indexed by Metric.
constexpr std::array<MetricNames, heap::kMetrics> kNames = {{
    {"alloc_objects", "alloc_space"},
    {"inuse_objects", "inuse_space"},
    {"peak_objects", "peak_space"},
    {"temporary_objects", "temporary_space"},
    {"promoted_objects", "promoted_space"},
    {"died_young_objects", "died_young_space"},
}};

// A sample type that another tool names differently.
struct OtherName {
  std::string_view name;
  Metric metric;
};

constexpr OtherName kOtherNames[] = {
    {"objects", Metric::kLive},
    {"space", Metric::kLive},
    {"allocations", Metric::kAllocated},
    {"alloc_bytes", Metric::kAllocated},
    {"alloc_size", Metric::kAllocated},
    {"alloc_count", Metric::kAllocated},
    {"inuse_bytes", Metric::kLive},
    {"inuse_count", Metric::kLive},
    {"delta_objects", Metric::kAllocated},
    {"delta_space", Metric::kAllocated},
};

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr double kKib = 1024;
constexpr Unit kUnits[] = {
    {"bytes", 1},
    {"byte", 1},
    {"b", 1},
    {"kilobytes", kKib},
    {"kilobyte", kKib},
    {"kb", kKib},
    {"megabytes", kKib* kKib},
    {"megabyte", kKib* kKib},
    {"mb", kKib* kKib},
};

// The bytes in a unit; 0 if the unit measures no memory.
double BytesOf(std::string_view unit) {
  for (const Unit& known : kUnits) {
    if (unit == known.name) return known.bytes;
  }
  return 0;
}

bool FindMetric(std::string_view name, Metric* metric) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    *metric = static_cast<Metric>(i);
    if (name == kNames[i].blocks || name == kNames[i].bytes) return true;
  }
  for (const OtherName& other : kOtherNames) {
    *metric = other.metric;
    if (name == other.name) return true;
  }
  return false;
}

// Guesses the metric of a type that is counted in bytes and has an unknown name.
Metric GuessMetric(std::string_view name) {
  return name.find("alloc") == std::string_view::npos ? Metric::kLive : Metric::kAllocated;
}

// The columns found so far: at most one for blocks and one for bytes of each metric.
class Found {
 public:
  bool Add(const Column& column) {
    const size_t place = 2 * static_cast<size_t>(column.metric) + (column.is_blocks ? 1 : 0);
    if (taken_[place]) return false;
    taken_[place] = true;
    columns_.push_back(column);
    return true;
  }

  bool HasBytes(Metric metric) const { return taken_[2 * static_cast<size_t>(metric)]; }

  // Leaves out the blocks of a metric without bytes, since reports need bytes.
  std::vector<Column> Columns() const {
    std::vector<Column> columns;
    for (const Column& column : columns_) {
      if (HasBytes(column.metric)) columns.push_back(column);
    }
    return columns;
  }

 private:
  std::bitset<2 * heap::kMetrics> taken_;
  std::vector<Column> columns_;
};

bool AddKnown(const ValueType& type, size_t value, Found* found) {
  Column column;
  column.value = value;
  column.scale = BytesOf(type.unit);
  column.is_blocks = type.unit == "count";
  if (column.scale == 0 && !column.is_blocks) return false;
  if (column.is_blocks) column.scale = 1;
  return FindMetric(type.name, &column.metric) && found->Add(column);
}

bool AddGuess(const ValueType& type, size_t value, Found* found) {
  const double scale = BytesOf(type.unit);
  return scale > 0 && found->Add({value, GuessMetric(type.name), false, scale});
}

// A printable form of a name from a file, which may be anything.
std::string Shown(std::string_view name) { return Printable(name.substr(0, 40), Charset::kUtf8); }

std::string Join(const std::vector<ValueType>& types) {
  std::string text;
  for (const ValueType& type : types) {
    if (!text.empty()) text += ", ";
    text += Shown(type.name) + "/" + Shown(type.unit);
    if (text.size() > 200) return text + ", ...";
  }
  return text;
}

absl::Status NoBytes(const std::vector<ValueType>& types) {
  return absl::InvalidArgumentError("is a pprof profile, but not of memory (it has " +
                                    (types.empty() ? "no values" : Join(types)) +
                                    "): give a heap profile, which counts bytes");
}

}  // namespace

std::vector<Column> ColumnsToWrite(const heap::HeapProfile& profile) {
  std::vector<Column> columns;
  const bool has_any = std::count(profile.has.begin(), profile.has.end(), true) > 0;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    if (!profile.has[i] && (has_any || metric != Metric::kLive)) continue;
    if (profile.has_blocks) columns.push_back({columns.size(), metric, true, 1});
    columns.push_back({columns.size(), metric, false, 1});
  }
  return columns;
}

ValueType TypeOf(const Column& column) {
  const MetricNames& names = kNames[static_cast<size_t>(column.metric)];
  return column.is_blocks ? ValueType{names.blocks, "count"} : ValueType{names.bytes, "bytes"};
}

absl::StatusOr<std::vector<Column>> ColumnsToRead(const std::vector<ValueType>& types,
                                                  std::vector<std::string>* left_out) {
  Found found;
  std::vector<size_t> unknown;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!AddKnown(types[i], i, &found)) unknown.push_back(i);
  }
  const bool is_known = !found.Columns().empty();
  for (size_t i : unknown) {
    if (is_known || !AddGuess(types[i], i, &found)) left_out->push_back(Shown(types[i].name));
  }
  std::vector<Column> columns = found.Columns();
  if (columns.empty()) return NoBytes(types);
  return columns;
}

}  // namespace allomon::pprof
