#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "tools/pprof/code.h"
#include "tools/pprof/own_lines.h"
#include "tools/pprof/pprof.h"
#include "tools/pprof/sample_types.h"
#include "tools/pprof/samples.h"
#include "tools/pprof/source.h"
#include "tools/text/plain_text.h"

namespace allomon::pprof {
namespace {

using heap::HeapProfile;
using heap::Sample;

constexpr double kWordBytes = 8;
constexpr double kNanosPerSecond = 1e9;
constexpr size_t kMaxNotes = 100;
constexpr size_t kMaxNoteBytes = 1000;

// The fields that a file has once.
struct Head {
  std::vector<ValueType> types;
  ValueType period_type;
  Numbers numbers;
  std::vector<std::string_view> comments;
};

bool ReadValueType(std::string_view message, Source* source, ValueType* type) {
  Numbers numbers;
  if (!source->ReadMessage(message, "a type of samples", &numbers)) return false;
  *type = {source->Text(numbers[kTypeName]), source->Text(numbers[kTypeUnit])};
  return true;
}

bool ReadComments(const WireReader& field, Source* source, Head* head) {
  std::vector<uint64_t> numbers;
  if (!field.AppendNumbers(&numbers)) return source->Damaged("comments");
  for (uint64_t number : numbers) head->comments.push_back(source->Text(number));
  return source->Spend(2 * sizeof(std::string_view) * numbers.size());
}

bool ReadHeadField(const WireReader& field, Source* source, Head* head) {
  head->numbers.Set(field.field(), field.number());
  switch (field.field()) {
    case kSampleType:
      head->types.emplace_back();
      return source->Spend(2 * sizeof(ValueType)) &&
             ReadValueType(field.bytes(), source, &head->types.back());
    case kPeriodType:
      return ReadValueType(field.bytes(), source, &head->period_type);
    case kComment:
      return ReadComments(field, source, head);
    default:
      return true;
  }
}

bool ReadHead(Source* source, Head* head) {
  return source->ForEachField(
      [&](const WireReader& field) { return ReadHeadField(field, source, head); });
}

// Marks the strings to which fields of the message refer.  What is damaged is found later.
void MarkStrings(std::string_view message, std::initializer_list<uint32_t> fields,
                 std::vector<bool>* marks) {
  for (WireReader reader(message); reader.Next();) {
    const bool is_string = std::find(fields.begin(), fields.end(), reader.field()) != fields.end();
    if (is_string && reader.number() < marks->size()) (*marks)[reader.number()] = true;
  }
}

void MarkStringsOfField(const WireReader& field, std::vector<bool>* marks) {
  if (field.field() == kMapping) MarkStrings(field.bytes(), {kMappingFile, kMappingBuildId}, marks);
  if (field.field() == kFunction) {
    MarkStrings(field.bytes(), {kFunctionName, kFunctionLinkerName, kFunctionFile}, marks);
  }
  if (field.field() != kSample) return;
  for (WireReader reader(field.bytes()); reader.Next();) {
    if (reader.field() != kSampleLabel) continue;
    MarkStrings(reader.bytes(), {kLabelKey, kLabelString, kLabelUnit}, marks);
  }
}

// Returns the lines of ours.  A label's value, or a name, may look like one, so that they are those
// strings to which nothing refers.
std::vector<std::string_view> OwnStrings(const Source& source, const std::vector<bool>& marks) {
  std::vector<std::string_view> own;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i] && IsOwnLine(source.strings()[i])) own.push_back(source.strings()[i]);
  }
  return own;
}

bool ReadOwnStrings(Source* source, std::vector<std::string_view>* own) {
  std::vector<bool> marks(source->strings().size());
  *own = OwnStrings(*source, marks);
  if (own->empty()) return true;
  const bool is_good = source->ForEachField([&marks](const WireReader& field) {
    MarkStringsOfField(field, &marks);
    return true;
  });
  *own = OwnStrings(*source, marks);
  return is_good;
}

void SetTimes(const Numbers& numbers, HeapProfile* profile) {
  const auto duration_nanos = static_cast<int64_t>(numbers[kDurationNanos]);
  profile->start_unix_nanos = static_cast<int64_t>(numbers[kTimeNanos]);
  profile->duration_seconds =
      static_cast<double>(std::max<int64_t>(0, duration_nanos)) / kNanosPerSecond;
}

bool HasBlocks(const std::vector<Column>& columns, heap::Metric metric) {
  return std::any_of(columns.begin(), columns.end(), [metric](const Column& column) {
    return column.is_blocks && column.metric == metric;
  });
}

void SetMetrics(const std::vector<Column>& columns, HeapProfile* profile) {
  for (const Column& column : columns) {
    profile->has[static_cast<size_t>(column.metric)] = true;
    if (!HasBlocks(columns, column.metric)) profile->has_blocks = false;
  }
}

void AddNote(std::string note, HeapProfile* profile) {
  if (profile->notes.size() < kMaxNotes) profile->notes.push_back(std::move(note));
}

// Other samplers sample bytes, as Go's runtime does: they hit one byte of `period` on the average,
// and sample a block with a hit.
void SetRate(const Head& head, HeapProfile* profile) {
  const auto period = static_cast<int64_t>(head.numbers[kPeriod]);
  if (head.period_type.unit != "bytes" || period < 1 || !profile->has_blocks) return;
  profile->rate = period == 1 ? 1 : -std::expm1(-kWordBytes / static_cast<double>(period));
  if (period == 1) return;
  AddNote("intervals take it that one byte in " + std::to_string(period) + " was sampled by chance",
          profile);
}

// Completes a profile that another tool made.  Such tools do not sample header words.
void SetForeign(const Head& head, const std::vector<std::string>& left_out, HeapProfile* profile) {
  for (Sample& sample : profile->samples) sample.has_header = false;
  for (std::string_view comment : head.comments) {
    if (IsOwnLine(comment)) continue;
    AddNote(Printable(comment.substr(0, kMaxNoteBytes), Charset::kUtf8), profile);
  }
  for (const std::string& name : left_out) AddNote("not shown: " + name, profile);
  SetRate(head, profile);
}

bool IsNoStack(const HeapProfile& profile) {
  if (profile.locations.empty() || profile.functions.empty()) return false;
  const std::vector<heap::Line>& lines = profile.locations.back().lines;
  return lines.size() == 1 && lines.front().function + 1 == profile.functions.size() &&
         profile.functions.back().name == kNoStack;
}

bool IsLastFunctionUsedOnce(const HeapProfile& profile) {
  size_t uses = 0;
  for (const heap::Location& location : profile.locations) {
    for (const heap::Line& line : location.lines) {
      uses += line.function + 1 == profile.functions.size() ? 1 : 0;
    }
  }
  return uses == 1;
}

// Removes the frame that stands in files for an empty stack.
void RemoveNoStack(HeapProfile* profile) {
  if (!IsNoStack(*profile) || !IsLastFunctionUsedOnce(*profile)) return;
  const auto no_stack = static_cast<uint32_t>(profile->locations.size() - 1);
  for (Sample& sample : profile->samples) {
    const auto end = std::remove(sample.stack.begin(), sample.stack.end(), no_stack);
    sample.stack.erase(end, sample.stack.end());
  }
  profile->locations.pop_back();
  profile->functions.pop_back();
}

void SetProgram(HeapProfile* profile) {
  if (profile->origin.empty()) profile->origin = "pprof";
  if (!profile->program.empty() || profile->mappings.empty()) return;
  profile->program = profile->mappings.front().path;
}

bool Decode(Source* source, HeapProfile* profile) {
  Head head;
  std::vector<std::string_view> own_strings;
  if (!source->ReadStrings() || !ReadHead(source, &head) || !ReadOwnStrings(source, &own_strings)) {
    return false;
  }
  std::vector<std::string> left_out;
  auto columns = ColumnsToRead(head.types, &left_out);
  if (!columns.ok()) return source->Fail(std::string(columns.status().message()));
  SetTimes(head.numbers, profile);
  SetMetrics(*columns, profile);
  OwnLines own(head.comments, own_strings);
  own.ReadProfile(profile);
  CodeDecoder code(source, profile);
  if (!code.Read()) return false;
  SampleDecoder samples(head.types.size(), *columns, code, own.samples_have_threads(), source,
                        profile);
  if (!samples.Read()) return false;
  SetProgram(profile);
  RemoveNoStack(profile);
  if (own.is_ours()) {
    own.ReadSamples(profile);
    code.SortMappings();
  } else {
    SetForeign(head, left_out, profile);
  }
  return source->status().ok();
}

}  // namespace

// Files begin with the type of a sample's first value, and those of Go's runtime with the type of
// the period: a message of one or two small numbers.  A writer that keeps no order may begin with
// the strings, the first of which is empty.
bool LooksLikePprof(std::string_view first_bytes) {
  if (first_bytes.substr(0, 2) == std::string_view("2\0", 2)) return true;
  return first_bytes.size() >= 3 && (first_bytes[0] == '\n' || first_bytes[0] == 'Z') &&
         static_cast<unsigned char>(first_bytes[1]) <= 22 &&
         (first_bytes[2] == '\x08' || first_bytes[2] == '\x10');
}

absl::StatusOr<HeapProfile> DecodePprof(std::string_view bytes, size_t max_profile_bytes) {
  Source source(bytes, max_profile_bytes);
  HeapProfile profile;
  if (!Decode(&source, &profile)) return source.status();
  return profile;
}

}  // namespace allomon::pprof
