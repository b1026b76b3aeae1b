#include "tools/export/otlp_dictionary.h"

#include "tools/export/otlp_fields.h"
#include "tools/pprof/own_lines.h"
#include "tools/text/plain_text.h"

namespace allomon::interchange::otlp {
namespace {

using pprof::WireWriter;

constexpr char kUnnamed[] = "(unnamed)";
constexpr char kReplacement[] = "\xef\xbf\xbd";

// Readers that expect ids of full length get them.
std::string NoLink() {
  std::string link;
  WireWriter out(&link);
  out.Bytes(kTraceId, std::string(16, '\0'));
  out.Bytes(kSpanId, std::string(8, '\0'));
  return link;
}

}  // namespace

std::string Utf8(std::string_view text) {
  std::string good;
  good.reserve(text.size());
  while (!text.empty()) {
    const auto point = FirstCodePoint(text);
    const size_t bytes = point.has_value() ? point->length_bytes : 1;
    good += point.has_value() ? text.substr(0, bytes) : kReplacement;
    text.remove_prefix(bytes);
  }
  return good;
}

void AddPacked(uint32_t field, const std::vector<uint32_t>& numbers, WireWriter* out) {
  if (numbers.empty()) return;
  size_t bytes = 0;
  for (const uint32_t number : numbers) bytes += pprof::VarintSize(number);
  out->BeginPacked(field, bytes);
  for (const uint32_t number : numbers) out->Varint(number);
}

std::string TextValue(std::string_view text) {
  std::string value;
  WireWriter(&value).Bytes(kStringValue, Utf8(text));
  return value;
}

std::string NumberValue(int64_t number) {
  std::string value;
  WireWriter(&value).Chosen(kIntValue, static_cast<uint64_t>(number));
  return value;
}

Dictionary::Dictionary(const heap::HeapProfile& profile)
    : profile_(profile),
      links_(NoLink()),
      location_numbers_(profile.locations.size(), heap::kNone) {}

uint32_t Dictionary::Attribute(std::string_view key, const std::string& value,
                               std::string_view unit) {
  std::string attribute;
  WireWriter out(&attribute);
  out.Number(kAttributeKey, Text(key));
  out.Bytes(kAttributeValue, value);
  out.Number(kAttributeUnit, Text(unit));
  return attributes_.Add(std::move(attribute));
}

uint32_t Dictionary::Mapping(uint32_t number) {
  if (number >= profile_.mappings.size()) return 0;
  const heap::Mapping& mapping = profile_.mappings[number];
  std::string message;
  WireWriter out(&message);
  out.Number(kMappingStart, mapping.begin);
  out.Number(kMappingLimit, mapping.end);
  out.Number(kMappingOffset, mapping.file_offset);
  out.Number(kMappingFile, Text(mapping.path));
  if (!mapping.build_id.empty()) {
    AddPacked(kMappingAttributes,
              {Attribute("process.executable.build_id.gnu", TextValue(mapping.build_id))}, &out);
  }
  return mappings_.Add(std::move(message));
}

// The contract wants a name or a file.
uint32_t Dictionary::Function(const heap::Function& function) {
  const bool is_named =
      !function.name.empty() || !function.linker_name.empty() || !function.file.empty();
  std::string message;
  WireWriter out(&message);
  out.Number(kFunctionName, Text(is_named ? std::string_view(function.name) : kUnnamed));
  out.Number(kFunctionSystemName, Text(function.linker_name));
  out.Number(kFunctionFile, Text(function.file));
  out.Number(kFunctionStartLine, function.start_line);
  return functions_.Add(std::move(message));
}

std::string Dictionary::Line(uint32_t function, uint32_t line) {
  std::string message;
  WireWriter out(&message);
  out.Number(kLineFunction, function);
  out.Number(kLineNumber, line);
  return message;
}

uint32_t Dictionary::Location(uint32_t number) {
  uint32_t& known = location_numbers_[number];
  if (known != heap::kNone) return known;
  const heap::Location& location = profile_.locations[number];
  std::string message;
  WireWriter out(&message);
  out.Number(kLocationMapping, Mapping(location.mapping));
  out.Number(kLocationAddress, location.address);
  for (const heap::Line& line : location.lines) {
    out.Bytes(kLocationLines, Line(Function(profile_.functions[line.function]), line.line));
  }
  // An unknown frame would be the location 0, which stands for a missing one.
  if (message.empty()) out.Bytes(kLocationLines, Line(Function({}), 0));
  return known = locations_.Add(std::move(message));
}

// Viewers leave out samples without frames, so an empty stack has one that says so, as in pprof.
uint32_t Dictionary::Stack(const heap::Sample& sample) {
  std::vector<uint32_t> numbers;
  numbers.reserve(sample.stack.size() + 1);
  for (const uint32_t location : sample.stack) numbers.push_back(Location(location));
  if (numbers.empty()) {
    std::string none;
    WireWriter(&none).Bytes(kLocationLines,
                            Line(Function({std::string(pprof::kNoStack), "", "", 0}), 0));
    numbers.push_back(locations_.Add(std::move(none)));
  }
  std::string message;
  WireWriter out(&message);
  AddPacked(kStackLocations, numbers, &out);
  return stacks_.Add(std::move(message));
}

std::string Dictionary::Encode() const {
  std::string message;
  WireWriter out(&message);
  mappings_.Write(kMappingTable, &out);
  locations_.Write(kLocationTable, &out);
  functions_.Write(kFunctionTable, &out);
  links_.Write(kLinkTable, &out);
  strings_.Write(kStringTable, &out);
  attributes_.Write(kAttributeTable, &out);
  stacks_.Write(kStackTable, &out);
  return message;
}

}  // namespace allomon::interchange::otlp
