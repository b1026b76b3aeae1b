#include "tools/export/perfetto_tables.h"

#include <charconv>
#include <utility>

#include "tools/export/otlp_dictionary.h"
#include "tools/heap/named_stacks.h"
#include "tools/pprof/wire.h"

namespace allomon::interchange::perfetto {
namespace {

using heap::HeapProfile;
using otlp::Utf8;
using pprof::WireWriter;

// Returns the bytes of a hexadecimal text, and other texts as they are.
std::string BytesOf(const std::string& hexadecimal) {
  constexpr int kBase = 16;
  std::string bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    unsigned char byte = 0;
    const char* const digits = hexadecimal.data() + i;
    if (std::from_chars(digits, digits + 2, byte, kBase).ptr != digits + 2) return hexadecimal;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// Returns heapprofd's relative address: the place of the code in its file.
uint64_t OffsetInFile(uint64_t address, const heap::Mapping& mapping) {
  return address - mapping.begin + mapping.file_offset;
}

}  // namespace

uint64_t Table::Add(std::string key, std::string_view fields) {
  const auto [at, is_new] = numbers_.try_emplace(std::move(key), numbers_.size() + 1);
  if (!is_new) return at->second;
  std::string message;
  WireWriter(&message).Number(kIid, at->second);
  message += fields;
  WireWriter(interned_).Bytes(field_, message);
  return at->second;
}

uint64_t Table::AddText(std::string_view text) {
  std::string fields;
  WireWriter(&fields).Bytes(kText, text);
  return Add(std::string(text), fields);
}

void Tables::BeginProfile(const HeapProfile& profile) {
  frames_of_location_.assign(profile.locations.size(), {});
}

std::string Tables::TakeNew() { return std::exchange(new_, ""); }

// A frame needs a mapping in older readers, so code that is in no file is in one without a name.
uint64_t Tables::MappingOf(const HeapProfile& profile, uint32_t number) {
  static const heap::Mapping none;
  const heap::Mapping& mapping = number < profile.mappings.size() ? profile.mappings[number] : none;
  std::string fields;
  WireWriter out(&fields);
  if (!mapping.build_id.empty()) {
    out.Number(kBuildId, build_ids_.AddText(BytesOf(mapping.build_id)));
  }
  out.Number(kExactOffset, mapping.file_offset);
  out.Number(kStart, mapping.begin);
  out.Number(kEnd, mapping.end);
  // Readers put a slash before each part of a path.
  const bool has_slash = !mapping.path.empty() && mapping.path[0] == '/';
  const std::string path = Utf8(std::string_view(mapping.path).substr(has_slash ? 1 : 0));
  if (!path.empty()) out.Number(kPaths, mapping_paths_.AddText(path));
  return mappings_.Add(fields, fields);
}

// Readers tell frames apart by mapping, relative address and name, so that these are the key: were
// two frames one for them, differences between dumps would be wrong.  A frame without an address
// has its line in that place.
uint64_t Tables::FrameOf(const HeapProfile& profile, const heap::Location& location,
                         const heap::Function& function, uint32_t line) {
  const uint64_t mapping = MappingOf(profile, location.mapping);
  uint64_t relative = line;
  if (location.address != 0) {
    relative = location.mapping < profile.mappings.size()
                   ? OffsetInFile(location.address, profile.mappings[location.mapping])
                   : location.address;
  }
  std::string fields;
  WireWriter out(&fields);
  out.Number(kFunctionName, functions_.AddText(Utf8(function.name)));
  out.Number(kMapping, mapping);
  out.Chosen(kRelativePc, relative);
  std::string key = fields;
  if (!function.file.empty()) {
    out.Number(kSourcePath, source_paths_.AddText(Utf8(function.file)));
    out.Number(kLineNumber, line);
  }
  return frames_.Add(std::move(key), fields);
}

const std::vector<uint64_t>& Tables::FramesOf(const HeapProfile& profile, uint32_t number) {
  std::vector<uint64_t>& frames = frames_of_location_[number];
  if (!frames.empty()) return frames;
  const heap::Location& location = profile.locations[number];
  if (location.lines.empty()) {
    frames.push_back(
        FrameOf(profile, location, {UnnamedLocation(profile, location), "", "", 0}, 0));
  }
  for (auto line = location.lines.rbegin(); line != location.lines.rend(); ++line) {
    heap::Function function = profile.functions[line->function];
    if (function.name.empty()) function.name = UnnamedLocation(profile, location);
    frames.push_back(FrameOf(profile, location, function, line->line));
  }
  return frames;
}

uint64_t Tables::CallstackOf(const HeapProfile& profile, const heap::Sample& sample) {
  std::string fields;
  WireWriter out(&fields);
  if (sample.stack.empty()) out.Number(kFrameIds, FrameOf(profile, {}, {kNoStack, "", "", 0}, 0));
  for (auto location = sample.stack.rbegin(); location != sample.stack.rend(); ++location) {
    for (const uint64_t frame : FramesOf(profile, *location)) out.Number(kFrameIds, frame);
  }
  return callstacks_.Add(fields, fields);
}

}  // namespace allomon::interchange::perfetto
