#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "tools/pprof/comments.h"
#include "tools/pprof/fields.h"
#include "tools/pprof/id_table.h"
#include "tools/pprof/pprof.h"
#include "tools/pprof/sample_types.h"
#include "tools/pprof/thread_labels.h"
#include "tools/pprof/wire.h"

namespace allomon::pprof {
namespace {

using heap::Amount;
using heap::Function;
using heap::HeapProfile;
using heap::kNone;
using heap::Label;
using heap::Line;
using heap::Location;
using heap::Mapping;
using heap::Metric;
using heap::Sample;
using heap::Thread;

constexpr double kWordBytes = 8;
constexpr double kNanosPerSecond = 1e9;
constexpr size_t kMaxProfileBytes = size_t{2} << 30;

absl::Status Damaged(const char* why) {
  return absl::InvalidArgumentError(std::string("is a damaged pprof profile (") + why +
                                    "): make or copy it again");
}

uint32_t Clamp32(uint64_t number) {
  const auto value = static_cast<int64_t>(number);
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, UINT32_MAX - 1));
}

// One message, its fields in any order.  A field that comes twice counts as the last.
class Decoder {
 public:
  explicit Decoder(std::string_view file) : file_(file) {}

  absl::StatusOr<HeapProfile> Decode() {
    for (auto step : {&Decoder::ReadStrings, &Decoder::ReadHead, &Decoder::ReadCode,
                      &Decoder::ReadSamples, &Decoder::Finish}) {
      const absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return std::move(profile_);
  }

 private:
  // Calls `read(field)` for each field of the file.
  template <typename Read>
  absl::Status ForEachField(Read read) {
    WireReader reader(file_);
    while (reader.Next()) {
      if (reader.field() > kDefaultSampleType) continue;
      const absl::Status status = read(reader);
      if (!status.ok()) return status;
    }
    return reader.failed() ? Damaged("cut short, or no profile") : absl::OkStatus();
  }

  // Counts what the profile takes.
  absl::Status Spend(size_t bytes) {
    if (bytes > left_bytes_) {
      return absl::InvalidArgumentError("has more than " + std::to_string(kMaxProfileBytes >> 20) +
                                        " MiB of stacks: record fewer (--limit)");
    }
    left_bytes_ -= bytes;
    return absl::OkStatus();
  }

  absl::Status ReadStrings() {
    const absl::Status status = ForEachField([this](const WireReader& field) {
      if (field.field() != kStringTable) return absl::OkStatus();
      strings_.push_back(field.bytes());
      return Spend(sizeof(std::string_view));
    });
    if (status.ok() && (strings_.empty() || !strings_.front().empty())) {
      return Damaged("no table of strings");
    }
    return status;
  }

  // "" for what is not in the table; then the profile is refused in the end.
  std::string_view View(uint64_t number) {
    if (number < strings_.size()) return strings_[number];
    is_string_missing_ = true;
    return "";
  }

  absl::Status Copy(uint64_t number, std::string* text) {
    const std::string_view view = View(number);
    const absl::Status status = Spend(view.size());
    if (status.ok()) *text = view;
    return status;
  }

  absl::Status ReadHead() {
    std::vector<std::string_view> comments;
    const absl::Status status = ForEachField([&](const WireReader& field) {
      return ReadHeadField(field, &comments);
    });
    if (!status.ok()) return status;
    auto columns = ColumnsToRead(types_, &left_out_);
    if (!columns.ok()) return columns.status();
    columns_ = *std::move(columns);
    SetMetrics();
    CommentReader reader(std::move(comments));
    is_ours_ = reader.ReadProfile(&profile_);
    comments_ = std::move(reader);
    if (is_ours_) IndexThreads();
    return absl::OkStatus();
  }

  absl::Status ReadHeadField(const WireReader& field, std::vector<std::string_view>* comments) {
    switch (field.field()) {
      case kSampleType:
        types_.push_back({});
        return ReadValueType(field.bytes(), &types_.back());
      case kPeriodType:
        return ReadValueType(field.bytes(), &period_type_);
      case kPeriod:
        period_ = static_cast<int64_t>(field.number());
        break;
      case kTimeNanos:
        profile_.start_unix_nanos = static_cast<int64_t>(field.number());
        break;
      case kDurationNanos:
        profile_.duration_seconds =
            static_cast<double>(std::max<int64_t>(0, field.number())) / kNanosPerSecond;
        break;
      case kComment: {
        std::vector<uint64_t> numbers;
        if (!field.AppendNumbers(&numbers)) return Damaged("comments");
        for (uint64_t number : numbers) comments->push_back(View(number));
        return Spend(numbers.size() * sizeof(std::string_view));
      }
      default:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status ReadValueType(std::string_view message, ValueType* type) {
    WireReader reader(message);
    while (reader.Next()) {
      if (reader.field() == kTypeName) type->name = View(reader.number());
      if (reader.field() == kTypeUnit) type->unit = View(reader.number());
    }
    if (reader.failed()) return Damaged("types of samples");
    return Spend(sizeof(ValueType));
  }

  void SetMetrics() {
    profile_.has_blocks = !columns_.empty();
    for (const Column& column : columns_) {
      profile_.has[static_cast<size_t>(column.metric)] = true;
      const bool has_blocks =
          std::any_of(columns_.begin(), columns_.end(), [&column](const Column& other) {
            return other.is_blocks && other.metric == column.metric;
          });
      if (!has_blocks) profile_.has_blocks = false;
    }
  }

  void IndexThreads() {
    const std::vector<std::string> labels = ThreadLabels(profile_.threads);
    for (size_t i = 0; i < labels.size(); ++i) threads_.emplace(labels[i], i);
  }

  absl::Status ReadCode() {
    const absl::Status status =
        ForEachField([this](const WireReader& field) { return ReadCodeField(field); });
    if (!status.ok()) return status;
    if (!mapping_ids_.Finish()) return Damaged("two mappings of one id, or one of id 0");
    if (!location_ids_.Finish()) return Damaged("two locations of one id, or one of id 0");
    if (!function_ids_.Finish()) return Damaged("two functions of one id, or one of id 0");
    return Link();
  }

  absl::Status ReadCodeField(const WireReader& field) {
    switch (field.field()) {
      case kMapping:
        return ReadMapping(field.bytes());
      case kLocation:
        return ReadLocation(field.bytes());
      case kFunction:
        return ReadFunction(field.bytes());
      default:
        return absl::OkStatus();
    }
  }

  absl::Status ReadMapping(std::string_view message) {
    Mapping mapping;
    uint64_t id = 0, path = 0, build_id = 0;
    WireReader reader(message);
    while (reader.Next()) {
      const uint64_t number = reader.number();
      switch (reader.field()) {
        case kMappingId: id = number; break;
        case kMappingBegin: mapping.begin = number; break;
        case kMappingEnd: mapping.end = number; break;
        case kMappingOffset: mapping.file_offset = number; break;
        case kMappingFile: path = number; break;
        case kMappingBuildId: build_id = number; break;
      }
    }
    if (reader.failed()) return Damaged("a mapping");
    absl::Status status = Spend(sizeof mapping);
    if (status.ok()) status = Copy(path, &mapping.path);
    if (status.ok()) status = Copy(build_id, &mapping.build_id);
    mapping_ids_.Add(id);
    profile_.mappings.push_back(std::move(mapping));
    return status;
  }

  // Ids stay until all messages have been read.
  absl::Status ReadLocation(std::string_view message) {
    Location location;
    uint64_t id = 0, mapping = 0;
    WireReader reader(message);
    while (reader.Next()) {
      const uint64_t number = reader.number();
      switch (reader.field()) {
        case kLocationId: id = number; break;
        case kLocationMapping: mapping = number; break;
        case kLocationAddress: location.address = number; break;
        case kLocationLine: {
          const absl::Status status = ReadLine(reader.bytes(), &location);
          if (!status.ok()) return status;
          break;
        }
      }
    }
    if (reader.failed()) return Damaged("a location");
    location_ids_.Add(id);
    location_mappings_.push_back(mapping);
    profile_.locations.push_back(std::move(location));
    return Spend(sizeof(Location) + 3 * sizeof(uint64_t));
  }

  absl::Status ReadLine(std::string_view message, Location* location) {
    Line line;
    uint64_t function = 0;
    WireReader reader(message);
    while (reader.Next()) {
      if (reader.field() == kLineFunction) function = reader.number();
      if (reader.field() == kLineNumber) line.line = Clamp32(reader.number());
    }
    if (reader.failed()) return Damaged("a line");
    line_functions_.push_back(function);
    location->lines.push_back(line);
    return Spend(2 * (sizeof(Line) + sizeof function));
  }

  absl::Status ReadFunction(std::string_view message) {
    Function function;
    uint64_t id = 0, name = 0, linker_name = 0, file = 0;
    WireReader reader(message);
    while (reader.Next()) {
      const uint64_t number = reader.number();
      switch (reader.field()) {
        case kFunctionId: id = number; break;
        case kFunctionName: name = number; break;
        case kFunctionLinkerName: linker_name = number; break;
        case kFunctionFile: file = number; break;
        case kFunctionStartLine: function.start_line = Clamp32(number); break;
      }
    }
    if (reader.failed()) return Damaged("a function");
    if (name == 0) name = linker_name;
    absl::Status status = Spend(sizeof function + 2 * sizeof(uint64_t));
    if (status.ok()) status = Copy(name, &function.name);
    if (status.ok() && linker_name != name) status = Copy(linker_name, &function.linker_name);
    if (status.ok()) status = Copy(file, &function.file);
    function_ids_.Add(id);
    profile_.functions.push_back(std::move(function));
    return status;
  }

  // Ids become places.
  absl::Status Link() {
    size_t next_line = 0;
    for (size_t i = 0; i < profile_.locations.size(); ++i) {
      Location& location = profile_.locations[i];
      location.mapping = mapping_ids_.Find(location_mappings_[i]);
      if (location.mapping == kNone && location_mappings_[i] != 0) {
        return Damaged("a mapping that is not there");
      }
      for (Line& line : location.lines) {
        line.function = function_ids_.Find(line_functions_[next_line++]);
        if (line.function == kNone) return Damaged("a function that is not there");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadSamples() {
    return ForEachField([this](const WireReader& field) {
      return field.field() == kSample ? ReadSample(field.bytes()) : absl::OkStatus();
    });
  }

  absl::Status ReadSample(std::string_view message) {
    Sample sample;
    ids_.clear();
    values_.clear();
    WireReader reader(message);
    bool is_good = true;
    while (is_good && reader.Next()) {
      if (reader.field() == kSampleLocation) is_good = reader.AppendNumbers(&ids_);
      if (reader.field() == kSampleValue) is_good = reader.AppendNumbers(&values_);
      if (reader.field() == kSampleLabel) {
        const absl::Status status = ReadLabel(reader.bytes(), &sample);
        if (!status.ok()) return status;
      }
    }
    if (!is_good || reader.failed()) return Damaged("a sample");
    absl::Status status = SetStack(&sample);
    if (status.ok()) status = SetAmounts(&sample);
    if (status.ok()) status = Spend(sizeof sample + sizeof(uint32_t) * ids_.size());
    profile_.samples.push_back(std::move(sample));
    return status;
  }

  absl::Status SetStack(Sample* sample) {
    sample->stack.reserve(ids_.size());
    for (uint64_t id : ids_) {
      const uint32_t location = location_ids_.Find(id);
      if (location == kNone) return Damaged("a location that is not there");
      sample->stack.push_back(location);
    }
    return absl::OkStatus();
  }

  absl::Status SetAmounts(Sample* sample) {
    if (values_.size() != types_.size()) return Damaged("a sample with other values than types");
    for (const Column& column : columns_) {
      const auto value = static_cast<int64_t>(values_[column.value]);
      if (value < 0) {
        return absl::InvalidArgumentError(
            "is the difference of two profiles (it has values below 0): give those two");
      }
      Amount& amount = (*sample)[column.metric];
      (column.is_blocks ? amount.blocks : amount.bytes) = static_cast<double>(value) * column.scale;
    }
    return absl::OkStatus();
  }

  absl::Status ReadLabel(std::string_view message, Sample* sample) {
    uint64_t key = 0, text = 0, number = 0, unit = 0;
    WireReader reader(message);
    while (reader.Next()) {
      if (reader.field() == kLabelKey) key = reader.number();
      if (reader.field() == kLabelString) text = reader.number();
      if (reader.field() == kLabelNumber) number = reader.number();
      if (reader.field() == kLabelUnit) unit = reader.number();
    }
    if (reader.failed()) return Damaged("a label");
    const bool is_number = text == 0 && (number != 0 || unit != 0);
    return is_number ? AddNumberLabel(View(key), static_cast<int64_t>(number), View(unit), sample)
                     : AddLabel(View(key), View(text), sample);
  }

  absl::Status AddNumberLabel(std::string_view key, int64_t number, std::string_view unit,
                              Sample* sample) {
    if (key == "bytes" && number >= 0 && !sample->has_size) {
      sample->has_size = true;
      sample->size_bytes = static_cast<uint64_t>(number);
      return absl::OkStatus();
    }
    std::string value = std::to_string(number);
    if (!unit.empty() && unit != key) value.append(" ").append(unit);
    return PushLabel(key, value, sample);
  }

  absl::Status AddLabel(std::string_view key, std::string_view value, Sample* sample) {
    if (key != "thread" || sample->thread != kNone) return PushLabel(key, value, sample);
    const auto found = threads_.find(std::string(value));
    if (found != threads_.end()) {
      sample->thread = found->second;
      return absl::OkStatus();
    }
    if (is_ours_) return PushLabel(key, value, sample);
    sample->thread = static_cast<uint32_t>(profile_.threads.size());
    threads_.emplace(value, sample->thread);
    profile_.threads.emplace_back().name = value;
    return Spend(2 * (value.size() + sizeof(Thread)));
  }

  absl::Status PushLabel(std::string_view key, std::string_view value, Sample* sample) {
    const absl::Status status = Spend(sizeof(Label) + key.size() + value.size());
    if (status.ok()) sample->labels.push_back({std::string(key), std::string(value)});
    return status;
  }

  absl::Status Finish() {
    if (is_string_missing_) return Damaged("a string that is not there");
    if (is_ours_) {
      comments_.ReadSamples(&profile_);
      SortMappings();
    } else {
      SetForeign();
    }
    if (profile_.origin.empty()) profile_.origin = "pprof";
    return absl::OkStatus();
  }

  // To the order of their ids: in the file the program's comes first.
  void SortMappings() {
    std::vector<Mapping> sorted;
    std::vector<uint32_t> places(profile_.mappings.size());
    for (const auto& [id, place] : mapping_ids_.places()) {
      places[place] = static_cast<uint32_t>(sorted.size());
      sorted.push_back(std::move(profile_.mappings[place]));
    }
    profile_.mappings = std::move(sorted);
    for (Location& location : profile_.locations) {
      if (location.mapping != kNone) location.mapping = places[location.mapping];
    }
  }

  // What the format says of the profiles of others.  Their samplers know no header words.
  void SetForeign() {
    for (Sample& sample : profile_.samples) sample.has_header = false;
    if (!profile_.mappings.empty()) profile_.program = profile_.mappings.front().path;
    for (const std::string& name : left_out_) {
      profile_.notes.push_back("left out: " + name.substr(0, 80));
    }
    if (period_type_.unit != "bytes" || period_ < 1 || !profile_.has_blocks) return;
    profile_.rate =
        period_ == 1 ? 1 : -std::expm1(-kWordBytes / static_cast<double>(period_));
    if (period_ == 1) return;
    profile_.notes.push_back("intervals take it that blocks were sampled once per " +
                             std::to_string(period_) + " bytes on the average, by chance");
  }

  const std::string_view file_;
  size_t left_bytes_ = kMaxProfileBytes;
  std::vector<std::string_view> strings_;
  bool is_string_missing_ = false;
  std::vector<ValueType> types_;
  std::vector<std::string> left_out_;
  std::vector<Column> columns_;
  ValueType period_type_;
  int64_t period_ = 0;
  CommentReader comments_{{}};
  bool is_ours_ = false;
  std::unordered_map<std::string, uint32_t> threads_;
  IdTable mapping_ids_, location_ids_, function_ids_;
  std::vector<uint64_t> location_mappings_;  // ids, by location
  std::vector<uint64_t> line_functions_;     // ids, in the order of all lines
  std::vector<uint64_t> ids_, values_;       // of the sample that is being read
  HeapProfile profile_;
};

}  // namespace

bool LooksLikePprof(std::string_view first_bytes) {
  WireReader reader(first_bytes.substr(0, 2));
  // A profile begins with the type of its first value, a message of two small numbers.
  return first_bytes.size() >= 2 && first_bytes[0] == (kSampleType << 3 | 2) &&
         static_cast<unsigned char>(first_bytes[1]) <= 12;
}

absl::StatusOr<HeapProfile> DecodePprof(std::string_view bytes) { return Decoder(bytes).Decode(); }

}  // namespace allomon::pprof
