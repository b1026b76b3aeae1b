#include "tools/export/otlp.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/otlp_dictionary.h"
#include "tools/export/otlp_fields.h"
#include "tools/heap/computed_label.h"
#include "tools/heap/interval.h"
#include "tools/heap/missing.h"
#include "tools/heap/program_name.h"
#include "tools/pprof/own_lines.h"
#include "tools/pprof/sample_types.h"
#include "tracker/formats/version.h"

namespace allomon::interchange {
namespace otlp {
namespace {

using heap::HeapProfile;
using heap::Sample;
using pprof::Column;
using pprof::WireWriter;

constexpr double kNanosPerSecond = 1e9;
constexpr double kWordBytes = 8;

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

// Types and sources of blocks become labels, since that is what sets them for other commands.
HeapProfile WithComputedLabels(HeapProfile profile) {
  heap::AddComputedLabel(heap::kTypeKey, &profile);
  heap::AddComputedLabel(heap::kSourceKey, &profile);
  return profile;
}

// The asked metric's bytes first, since viewers show the first profile.
std::vector<Column> ColumnsOf(const HeapProfile& profile, heap::Metric first) {
  std::vector<Column> columns = pprof::ColumnsToWrite(profile);
  const auto rank = [first](const Column& column) {
    return column.metric != first ? 2 : column.is_blocks ? 1 : 0;
  };
  std::stable_sort(columns.begin(), columns.end(),
                   [&rank](const Column& a, const Column& b) { return rank(a) < rank(b); });
  return columns;
}

int64_t ValueOf(const Sample& sample, const Column& column) {
  const heap::Amount& amount = sample[column.metric];
  return pprof::Rounded(column.is_blocks ? amount.blocks : amount.bytes);
}

// A sample of the contract stands for all blocks with one stack and the same attributes.
struct Row {
  uint32_t stack = 0;
  std::vector<uint32_t> attributes;

  bool operator<(const Row& other) const {
    return std::tie(stack, attributes) < std::tie(other.stack, other.attributes);
  }
};

class Encoder {
 public:
  Encoder(const HeapProfile& profile, heap::Metric first, std::string_view host)
      : profile_(WithComputedLabels(profile)),
        columns_(ColumnsOf(profile_, first)),
        host_(host),
        dictionary_(profile_) {}

  std::string Encode() {
    AddRows();
    std::string data;
    WireWriter out(&data);
    out.Bytes(kResourceProfiles, ResourceProfiles());
    out.Bytes(kDictionary, dictionary_.Encode());
    return data;
  }

 private:
  // ---- Rows

  void AddRows() {
    std::map<Row, uint32_t> numbers;
    for (const Sample& sample : profile_.samples) {
      row_of_sample_.push_back(heap::kNone);
      if (!HasValue(sample)) continue;
      const auto [at, is_new] =
          numbers.try_emplace({dictionary_.Stack(sample), AttributesOf(sample)}, rows_.size());
      if (is_new) rows_.push_back(at->first);
      row_of_sample_.back() = at->second;
    }
  }

  bool HasValue(const Sample& sample) const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [&sample](const Column& column) { return ValueOf(sample, column) != 0; });
  }

  // A key may be there once.  Of labels with the same key, which only foreign files have, the first
  // one stays.
  std::vector<uint32_t> AttributesOf(const Sample& sample) {
    std::map<std::string, std::string> values;
    std::vector<uint32_t> attributes;
    const auto add = [&](const std::string& key, std::string value, const char* unit) {
      const auto [at, is_new] = values.try_emplace(Utf8(key), value);
      if (is_new && !key.empty()) {
        attributes.push_back(dictionary_.Attribute(key, value, unit));
      } else if (key.empty() || at->second != value) {
        ++dropped_attributes_;
      }
    };
    if (sample.has_size) add("allocation_size", NumberValue(Signed(sample.size_bytes)), "By");
    if (sample.thread < profile_.threads.size()) {
      const heap::Thread& thread = profile_.threads[sample.thread];
      if (thread.tid != 0) add("thread.id", NumberValue(Signed(thread.tid)), "");
      if (!thread.name.empty()) add("thread.name", TextValue(thread.name), "");
    }
    for (const heap::Label& label : sample.labels) {
      add(KeyOf(label.key), TextValue(label.value), "");
    }
    return attributes;
  }

  static int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }

  static std::string KeyOf(const std::string& key) {
    if (key == heap::kTypeKey) return "allomon.type";
    return key == heap::kSourceKey ? "allomon.source" : key;
  }

  // ---- Profiles

  std::string ResourceProfiles() {
    std::string message;
    WireWriter out(&message);
    out.Bytes(kResource, Resource());
    out.Bytes(kScopeProfiles, ScopeProfiles());
    return message;
  }

  std::string Resource() const {
    std::string message;
    WireWriter out(&message);
    const auto add = [&out](std::string_view key, const std::string& value) {
      std::string attribute;
      WireWriter fields(&attribute);
      fields.Bytes(kKey, key);
      fields.Bytes(kValue, value);
      out.Bytes(kResourceAttributes, attribute);
    };
    const std::string name = heap::ProgramName(profile_.program, profile_.command);
    add("service.name", TextValue(name.empty() ? "unknown_service" : name));
    if (profile_.pid != 0) add("process.pid", NumberValue(Signed(profile_.pid)));
    if (!profile_.program.empty()) add("process.executable.path", TextValue(profile_.program));
    if (!host_.empty()) add("host.name", TextValue(host_));
    return message;
  }

  std::string ScopeProfiles() {
    std::string scope, message;
    WireWriter fields(&scope), out(&message);
    fields.Bytes(kScopeName, "allomon");
    fields.Bytes(kScopeVersion, kVersion);
    out.Bytes(kScope, scope);
    for (const Column& column : columns_) out.Bytes(kProfiles, Profile(column));
    return message;
  }

  std::string Profile(const Column& column) {
    std::vector<int64_t> values(rows_.size());
    std::vector<heap::Estimate> estimates(rows_.size());
    heap::Estimate total;
    const heap::Sampling sampling = heap::SamplingOf(profile_, column.metric);
    for (size_t i = 0; i < row_of_sample_.size(); ++i) {
      const uint32_t row = row_of_sample_[i];
      if (row == heap::kNone) continue;
      const Sample& sample = profile_.samples[i];
      const heap::Estimate estimate = EstimateOf(sample[column.metric], sample, sampling);
      values[row] = Sum(values[row], ValueOf(sample, column));
      estimates[row].Add(estimate);
      total.Add(estimate);
    }
    const bool has_intervals = sampling.IsKnown() && !sampling.IsExact() && sampling.is_whole;
    std::string message;
    WireWriter out(&message);
    out.Bytes(kSampleType, ValueType(pprof::TypeOf(column)));
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (values[row] == 0) continue;
      const heap::Interval interval = IntervalOf(estimates[row], column);
      out.Bytes(kSamples, SampleOf(rows_[row], values[row], has_intervals ? &interval : nullptr));
    }
    const heap::Interval interval = IntervalOf(total, column);
    AddTimes(&out);
    out.Number(kDroppedAttributes, dropped_attributes_);
    AddPacked(kProfileAttributes, ProfileAttributes(column, has_intervals ? &interval : nullptr),
              &out);
    return message;
  }

  static heap::Interval IntervalOf(const heap::Estimate& estimate, const Column& column) {
    return column.is_blocks ? heap::BlocksInterval(estimate) : heap::BytesInterval(estimate);
  }

  std::string ValueType(const pprof::ValueType& type) {
    std::string message;
    WireWriter out(&message);
    out.Number(kTypeName, dictionary_.Text(type.name));
    out.Number(kTypeUnit, dictionary_.Text(type.unit));
    return message;
  }

  // Limits are in per cent of the value: in bytes nearly each sample would have two attributes of
  // its own, and the contract advises against attributes of so many values.
  std::string SampleOf(const Row& row, int64_t value, const heap::Interval* interval) {
    std::vector<uint32_t> attributes = row.attributes;
    if (interval != nullptr && value > 0) {
      const auto of_value = [value](double limit) {
        return 100 * limit / static_cast<double>(value);
      };
      AddLimits("allomon.interval", std::floor(of_value(interval->low)),
                std::ceil(of_value(interval->high)), "%", &attributes);
    }
    std::string message;
    WireWriter out(&message);
    out.Number(kSampleStack, row.stack);
    AddPacked(kSampleAttributes, attributes, &out);
    const auto number = static_cast<uint64_t>(value);
    out.BeginPacked(kSampleValues, pprof::VarintSize(number));
    out.Varint(number);
    return message;
  }

  void AddLimits(const std::string& name, double low, double high, const char* unit,
                 std::vector<uint32_t>* attributes) {
    attributes->push_back(
        dictionary_.Attribute(name + ".low", NumberValue(pprof::Rounded(low)), unit));
    attributes->push_back(
        dictionary_.Attribute(name + ".high", NumberValue(pprof::Rounded(high)), unit));
  }

  void AddTimes(WireWriter* out) {
    const int64_t start = profile_.start_unix_nanos;
    if (start > 0) out->Fixed64(kTimeUnixNano, static_cast<uint64_t>(start));
    const int64_t nanos = pprof::Rounded(profile_.duration_seconds * kNanosPerSecond);
    if (nanos > 0) out->Number(kDurationNano, static_cast<uint64_t>(nanos));
    out->Bytes(kPeriodType, ValueType({"space", "bytes"}));
    if (profile_.rate > 0) out->Signed(kPeriod, pprof::Rounded(kWordBytes / profile_.rate));
  }

  // Of the whole profile.
  std::vector<uint32_t> ProfileAttributes(const Column& column, const heap::Interval* interval) {
    std::vector<uint32_t> attributes;
    if (interval != nullptr) {
      AddLimits("allomon.total", interval->low, interval->high, column.is_blocks ? "{block}" : "By",
                &attributes);
    }
    const std::string missing = heap::MissingText(profile_.missing);
    if (!missing.empty()) {
      attributes.push_back(dictionary_.Attribute("allomon.missing", TextValue(missing)));
    }
    return attributes;
  }

  const HeapProfile profile_;
  const std::vector<Column> columns_;
  const std::string_view host_;
  Dictionary dictionary_;
  std::vector<Row> rows_;
  std::vector<uint32_t> row_of_sample_;  // kNone: all its values are 0
  uint64_t dropped_attributes_ = 0;
};

}  // namespace
}  // namespace otlp

std::string EncodeOtlp(const heap::HeapProfile& profile, heap::Metric first,
                       std::string_view host) {
  return otlp::Encoder(profile, first, host).Encode();
}

Exported ToOtlp(const heap::HeapProfile& profile, heap::Metric metric) {
  return OneFile(EncodeOtlp(profile, metric));
}

Exported ToOtlpJson(const heap::HeapProfile& profile, heap::Metric metric) {
  return OneFile(OtlpJson(EncodeOtlp(profile, metric)));
}

}  // namespace allomon::interchange
