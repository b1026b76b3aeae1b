#include "tools/pprof/code.h"

#include <algorithm>
#include <utility>

namespace allomon::pprof {
namespace {

using heap::Function;
using heap::kNone;
using heap::Line;
using heap::Location;
using heap::Mapping;

// Clamps a line number, which a hostile file may have made negative, or larger than any source
// file.
uint32_t LineNumber(uint64_t number) {
  return static_cast<uint32_t>(std::clamp<int64_t>(static_cast<int64_t>(number), 0, INT32_MAX));
}

}  // namespace

bool CodeDecoder::Read() {
  return source_.ForEachField([this](const WireReader& field) { return ReadField(field); }) &&
         (mapping_ids_.Finish() || source_.Damaged("two mappings of one id, or one of 0")) &&
         (location_ids_.Finish() || source_.Damaged("two locations of one id, or one of 0")) &&
         (function_ids_.Finish() || source_.Damaged("two functions of one id, or one of 0")) &&
         Link();
}

bool CodeDecoder::ReadField(const WireReader& field) {
  switch (field.field()) {
    case kMapping:
      return ReadMapping(field.bytes());
    case kLocation:
      return ReadLocation(field.bytes());
    case kFunction:
      return ReadFunction(field.bytes());
    default:
      return true;
  }
}

bool CodeDecoder::ReadMapping(std::string_view message) {
  Numbers numbers;
  if (!source_.ReadMessage(message, "a mapping", &numbers)) return false;
  Mapping mapping;
  mapping.begin = numbers[kMappingBegin];
  mapping.end = numbers[kMappingEnd];
  mapping.file_offset = numbers[kMappingOffset];
  if (!source_.CopyText(numbers[kMappingFile], &mapping.path)) return false;
  if (!source_.CopyText(numbers[kMappingBuildId], &mapping.build_id)) return false;
  mapping_ids_.Add(numbers[kMappingId]);
  profile_.mappings.push_back(std::move(mapping));
  return source_.Spend(2 * sizeof mapping);
}

// Keeps the ids that a location refers to, until the whole file has been read.
bool CodeDecoder::ReadLocation(std::string_view message) {
  Numbers numbers;
  Location location;
  const bool is_good =
      source_.ReadMessage(message, "a location", &numbers, [&](const WireReader& field) {
        return field.field() != kLocationLine || ReadLine(field.bytes(), &location);
      });
  if (!is_good) return false;
  location.address = numbers[kLocationAddress];
  location_ids_.Add(numbers[kLocationId]);
  location_mappings_.push_back(numbers[kLocationMapping]);
  profile_.locations.push_back(std::move(location));
  return source_.Spend(2 * sizeof location);
}

bool CodeDecoder::ReadLine(std::string_view message, Location* location) {
  Numbers numbers;
  if (!source_.ReadMessage(message, "a line", &numbers)) return false;
  line_functions_.push_back(numbers[kLineFunction]);
  location->lines.push_back(
      {0, LineNumber(numbers[kLineNumber]), LineNumber(numbers[kLineColumn])});
  return source_.Spend(2 * (sizeof(Line) + sizeof(uint64_t)));
}

bool CodeDecoder::ReadFunction(std::string_view message) {
  Numbers numbers;
  if (!source_.ReadMessage(message, "a function", &numbers)) return false;
  const uint64_t linker_name = numbers[kFunctionLinkerName];
  const uint64_t name = numbers[kFunctionName] != 0 ? numbers[kFunctionName] : linker_name;
  Function function;
  function.start_line = LineNumber(numbers[kFunctionStartLine]);
  if (!source_.CopyText(name, &function.name)) return false;
  if (!source_.CopyText(linker_name == name ? 0 : linker_name, &function.linker_name)) return false;
  if (!source_.CopyText(numbers[kFunctionFile], &function.file)) return false;
  function_ids_.Add(numbers[kFunctionId]);
  profile_.functions.push_back(std::move(function));
  return source_.Spend(2 * sizeof function);
}

// Replaces ids by indices.
bool CodeDecoder::Link() {
  size_t next_line = 0;
  for (size_t i = 0; i < profile_.locations.size(); ++i) {
    Location& location = profile_.locations[i];
    location.mapping = mapping_ids_.Find(location_mappings_[i]);
    if (location.mapping == kNone && location_mappings_[i] != 0) {
      return source_.Damaged("a mapping that is not there");
    }
    if (!LinkLines(&location, &next_line)) return false;
  }
  return true;
}

bool CodeDecoder::LinkLines(Location* location, size_t* next_line) {
  for (Line& line : location->lines) {
    line.function = function_ids_.Find(line_functions_[(*next_line)++]);
    if (line.function == kNone) return source_.Damaged("a function that is not there");
  }
  return true;
}

void CodeDecoder::SortMappings() {
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

}  // namespace allomon::pprof
