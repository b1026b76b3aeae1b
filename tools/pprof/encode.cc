#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/pprof/fields.h"
#include "tools/pprof/own_lines.h"
#include "tools/pprof/pprof.h"
#include "tools/pprof/sample_types.h"
#include "tools/pprof/samples.h"
#include "tools/pprof/wire.h"

namespace allomon::pprof {
namespace {

// The strings of a profile that is being written, each once, in the order of first use.  The first
// is "".
class StringTable {
 public:
  StringTable() { Add(""); }

  // Returns the index of `text`, which must outlive the table.
  uint64_t Add(std::string_view text);
  // The same for a text that does not outlive the table.
  uint64_t AddCopy(std::string text);

  const std::vector<std::string_view>& strings() const { return strings_; }

 private:
  std::unordered_map<std::string_view, uint64_t> numbers_;
  std::vector<std::string_view> strings_;
  std::deque<std::string> copies_;
};

uint64_t StringTable::Add(std::string_view text) {
  const auto [found, is_new] = numbers_.try_emplace(text, strings_.size());
  if (is_new) strings_.push_back(text);
  return found->second;
}

uint64_t StringTable::AddCopy(std::string text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  copies_.push_back(std::move(text));
  return Add(copies_.back());
}

using heap::Amount;
using heap::Function;
using heap::HeapProfile;
using heap::Label;
using heap::Line;
using heap::Location;
using heap::Mapping;
using heap::Sample;

constexpr double kWordBytes = 8;
constexpr double kNanosPerSecond = 1e9;

// The facts that the profile has on the code of a mapping.  With them `go tool pprof` does not look
// for names again.
struct Known {
  bool functions = false;
  bool files = false;
  bool lines = false;
  bool inlined = false;
};

class Encoder {
 public:
  Encoder(const HeapProfile& profile, heap::Metric first)
      : profile_(profile),
        first_(first),
        columns_(ColumnsToWrite(profile)),
        thread_labels_(ThreadLabels(profile.threads)) {}

  std::string Encode() {
    AddSampleTypes();
    for (const Sample& sample : profile_.samples) AddSample(sample);
    AddMappings();
    for (const Location& location : profile_.locations) AddLocation(location);
    for (const Function& function : profile_.functions) AddFunction(function);
    if (is_stack_missing_) AddNoStack();
    AddTimes();
    AddPeriod();
    AddComments();
    AddStrings();
    return std::move(out_);
  }

 private:
  // Messages are written to the scratch string first, because a message's length precedes it in the
  // file.
  WireWriter Begin() {
    message_.clear();
    return WireWriter(&message_);
  }
  void End(uint32_t field) { file_.Bytes(field, message_); }

  void AddValueType(uint32_t field, const ValueType& type) {
    WireWriter writer = Begin();
    writer.Number(kTypeName, strings_.Add(type.name));
    writer.Number(kTypeUnit, strings_.Add(type.unit));
    End(field);
  }

  void AddSampleTypes() {
    for (const Column& column : columns_) AddValueType(kSampleType, TypeOf(column));
  }

  void AddSample(const Sample& sample) {
    WireWriter writer = Begin();
    AddStack(sample, &writer);
    AddValues(sample, &writer);
    AddLabels(sample, &writer);
    End(kSample);
  }

  void AddStack(const Sample& sample, WireWriter* writer) {
    if (sample.stack.empty()) {
      is_stack_missing_ = true;
      return writer->Number(kSampleLocation, profile_.locations.size() + 1);
    }
    size_t size = 0;
    for (uint32_t location : sample.stack) size += VarintSize(uint64_t{location} + 1);
    writer->BeginPacked(kSampleLocation, size);
    for (uint32_t location : sample.stack) writer->Varint(uint64_t{location} + 1);
  }

  uint64_t ValueOf(const Sample& sample, const Column& column) const {
    const Amount& amount = sample[column.metric];
    return static_cast<uint64_t>(Rounded(column.is_blocks ? amount.blocks : amount.bytes));
  }

  void AddValues(const Sample& sample, WireWriter* writer) {
    size_t size = 0;
    for (const Column& column : columns_) size += VarintSize(ValueOf(sample, column));
    writer->BeginPacked(kSampleValue, size);
    for (const Column& column : columns_) writer->Varint(ValueOf(sample, column));
  }

  void AddLabel(std::string_view key, std::string_view value, WireWriter* writer) {
    label_.clear();
    WireWriter label(&label_);
    label.Number(kLabelKey, strings_.Add(key));
    label.Number(kLabelString, strings_.Add(value));
    writer->Bytes(kSampleLabel, label_);
  }

  void AddSizeLabel(uint64_t size_bytes, WireWriter* writer) {
    label_.clear();
    WireWriter label(&label_);
    label.Number(kLabelKey, strings_.Add("bytes"));
    label.Number(kLabelNumber, size_bytes);
    label.Number(kLabelUnit, strings_.Add("bytes"));
    writer->Bytes(kSampleLabel, label_);
  }

  void AddLabels(const Sample& sample, WireWriter* writer) {
    if (sample.has_size) AddSizeLabel(sample.size_bytes, writer);
    if (sample.thread < thread_labels_.size()) {
      AddLabel("thread", thread_labels_[sample.thread], writer);
    }
    for (const Label& label : sample.labels) AddLabel(label.key, label.value, writer);
  }

  // Returns the facts on each mapping.
  std::vector<Known> FindKnown() const {
    std::vector<Known> known(profile_.mappings.size());
    for (const Location& location : profile_.locations) {
      if (location.mapping >= known.size()) continue;
      Known& of_mapping = known[location.mapping];
      of_mapping.inlined |= location.lines.size() > 1;
      for (const Line& line : location.lines) {
        of_mapping.functions = true;
        of_mapping.lines |= line.line != 0;
        if (line.function >= profile_.functions.size()) continue;
        of_mapping.files |= !profile_.functions[line.function].file.empty();
      }
    }
    return known;
  }

  // Writes the program's mapping first, because `go tool pprof` names the profile after the first
  // one.
  void AddMappings() {
    const std::vector<Known> known = FindKnown();
    size_t first = 0;
    for (size_t i = known.size(); i-- > 0;) {
      if (profile_.mappings[i].path == profile_.program) first = i;
    }
    if (first < known.size()) AddMapping(first, known[first]);
    for (size_t i = 0; i < known.size(); ++i) {
      if (i != first) AddMapping(i, known[i]);
    }
  }

  void AddMapping(size_t i, const Known& known) {
    const Mapping& mapping = profile_.mappings[i];
    WireWriter writer = Begin();
    writer.Number(kMappingId, i + 1);
    writer.Number(kMappingBegin, mapping.begin);
    writer.Number(kMappingEnd, mapping.end);
    writer.Number(kMappingOffset, mapping.file_offset);
    writer.Number(kMappingFile, strings_.Add(mapping.path));
    writer.Number(kMappingBuildId, strings_.Add(mapping.build_id));
    writer.Number(kMappingHasFunctions, known.functions);
    writer.Number(kMappingHasFiles, known.files);
    writer.Number(kMappingHasLines, known.lines);
    writer.Number(kMappingHasInlined, known.inlined);
    End(kMapping);
  }

  void AddLocation(const Location& location) {
    WireWriter writer = Begin();
    writer.Number(kLocationId, ++locations_);
    if (location.mapping < profile_.mappings.size()) {
      writer.Number(kLocationMapping, uint64_t{location.mapping} + 1);
    }
    writer.Number(kLocationAddress, location.address);
    for (const Line& line : location.lines) AddLine(line, &writer);
    End(kLocation);
  }

  void AddLine(const Line& line, WireWriter* writer) {
    label_.clear();
    WireWriter fields(&label_);
    fields.Number(kLineFunction, uint64_t{line.function} + 1);
    fields.Number(kLineNumber, line.line);
    fields.Number(kLineColumn, line.column);
    writer->Bytes(kLocationLine, label_);
  }

  void AddFunction(const Function& function) {
    WireWriter writer = Begin();
    writer.Number(kFunctionId, ++functions_);
    writer.Number(kFunctionName, strings_.Add(function.name));
    // `go tool pprof` drops the arguments of a name that both fields have.
    writer.Number(kFunctionLinkerName, strings_.Add(function.linker_name));
    writer.Number(kFunctionFile, strings_.Add(function.file));
    writer.Number(kFunctionStartLine, function.start_line);
    End(kFunction);
  }

  // Adds a frame that stands for an empty stack, because `go tool pprof` leaves out samples without
  // frames.
  void AddNoStack() {
    Location location;
    location.lines.push_back({static_cast<uint32_t>(profile_.functions.size()), 0});
    AddLocation(location);
    AddFunction(no_stack_);
  }

  void AddTimes() {
    file_.Signed(kTimeNanos, profile_.start_unix_nanos);
    file_.Signed(kDurationNanos, Rounded(profile_.duration_seconds * kNanosPerSecond));
  }

  void AddPeriod() {
    AddValueType(kPeriodType, {"space", "bytes"});
    if (profile_.rate > 0) file_.Signed(kPeriod, Rounded(kWordBytes / profile_.rate));
    for (const Column& column : columns_) {
      const bool is_default = column.metric == first_ && !column.is_blocks;
      if (is_default) file_.Number(kDefaultSampleType, strings_.Add(TypeOf(column).name));
    }
  }

  void AddComments() {
    for (std::string& comment : CommentsOf(profile_)) {
      file_.Number(kComment, strings_.AddCopy(std::move(comment)));
    }
  }

  void AddStrings() {
    for (std::string_view text : strings_.strings()) file_.Bytes(kStringTable, text);
    for (const std::string& text : StringsOf(profile_)) file_.Bytes(kStringTable, text);
  }

  const HeapProfile& profile_;
  const heap::Metric first_;
  const std::vector<Column> columns_;
  const std::vector<std::string> thread_labels_;
  const Function no_stack_{std::string(kNoStack), "", "", 0};
  StringTable strings_;
  uint64_t locations_ = 0;  // written so far
  uint64_t functions_ = 0;
  bool is_stack_missing_ = false;
  std::string message_;
  std::string label_;
  std::string out_;
  WireWriter file_{&out_};
};

}  // namespace

std::string EncodePprof(const HeapProfile& profile, heap::Metric first) {
  return Encoder(profile, first).Encode();
}

}  // namespace allomon::pprof
