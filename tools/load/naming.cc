#include "tools/load/naming.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/load/recording/code_namer.h"
#include "tools/symbols/code_file.h"
#include "tracker/base/check.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Location;
using heap::Mapping;

constexpr uint64_t kLeastPageBytes = 4096;  // of the machines that recordings come from

// Narrows the mapping to the code segment, if it begins where the file's first loaded segment does.
void Narrow(const std::vector<LoadedSegment>& segments, Mapping* mapping) {
  uint64_t first_address = 0;
  LoadedSegment code;
  if (!AddressOfOffset(segments, mapping->file_offset, &first_address)) return;
  if (!CodeSegment(segments, &code)) return;
  const uint64_t within_page = code.address % kLeastPageBytes;
  if (code.file_offset < within_page) return;
  if (code.file_offset - within_page <= mapping->file_offset) return;
  const uint64_t bias = mapping->begin - first_address;
  const uint64_t begin = bias + code.address - within_page;
  if (begin < mapping->begin || begin >= mapping->end) return;
  mapping->begin = begin;
  mapping->end = std::min(mapping->end, bias + code.address + code.memory_bytes);
  mapping->file_offset = code.file_offset - within_page;
}

// Finds the address in the file of an address in a mapping.  A mapping is a part of the file, or,
// from its first byte on, an image of all its segments.
bool AddressInFile(const std::vector<LoadedSegment>& segments, const Mapping& mapping,
                   uint64_t address, uint64_t* in_file) {
  if (address < mapping.begin || segments.empty()) return false;
  const uint64_t within = address - mapping.begin;
  const LoadedSegment& first = segments.front();
  const bool begins_there = mapping.file_offset == first.file_offset;
  if (!begins_there || within < first.file_bytes) {
    return AddressOfOffset(segments, within + mapping.file_offset, in_file);
  }
  *in_file = within + first.address;
  return std::any_of(segments.begin(), segments.end(), [in_file](const LoadedSegment& segment) {
    return *in_file >= segment.address && *in_file - segment.address < segment.memory_bytes;
  });
}

class Namer {
 public:
  Namer(const NameSources& sources, Unidentified unidentified, HeapProfile* profile)
      : sources_(sources), unidentified_(unidentified), profile_(profile) {}

  void NameAll() {
    for (const auto& [file, locations] : UnnamedByFile()) {
      const auto& [path, build_id] = file;
      if (build_id.empty()) {
        NameAsItIs(path, locations);
      } else {
        NameById(path, build_id, locations);
      }
    }
    if (named_without_id_) {
      Note("names are those of the files as they are now: the profile has no build ids");
    }
    if (sources_.server == nullptr) return;
    for (std::string& note : sources_.server->TakeNotes()) Note(std::move(note));
  }

 private:
  using Locations = std::vector<Location*>;
  using ByFile = std::map<std::pair<std::string, std::string>, Locations>;  // path and build id

  ByFile UnnamedByFile() {
    ByFile unnamed;
    for (Location& location : profile_->locations) {
      if (location.mapping == heap::kNone) continue;
      // A pack is of use to other profiles, too.
      if (sources_.collected == nullptr && !IsUnnamed(location)) continue;
      ALLOMON_DCHECK_LT("inv.load.numbers", location.mapping, profile_->mappings.size());
      const Mapping& mapping = profile_->mappings[location.mapping];
      if (mapping.build_id.empty() && unidentified_ == Unidentified::kLeave) continue;
      unnamed[{mapping.path, mapping.build_id}].push_back(&location);
    }
    return unnamed;
  }

  // Whether it has no name, or the one that NameByAddress() gives to code without a name.
  bool IsUnnamed(const Location& location) const {
    if (location.lines.empty()) return true;
    if (location.lines.size() > 1) return false;
    const heap::Function& function = profile_->functions[location.lines.front().function];
    const std::string by_address = NameByAddress(profile_->mappings[location.mapping].path, 0);
    const std::string_view stem(by_address.data(), by_address.size() - 1);
    return function.file.empty() && function.name.compare(0, stem.size(), stem) == 0 &&
           function.name.find_first_not_of("0123456789abcdef", stem.size()) == std::string::npos;
  }

  // False for "[vdso]" and similar names.
  static bool IsFile(const std::string& path) { return !path.empty() && path[0] == '/'; }

  void Note(std::string line) { profile_->notes.push_back(std::move(line)); }

  void NameAsItIs(const std::string& path, const Locations& locations) {
    const std::unique_ptr<CodeFile> file = CodeFile::Open(path, sources_.debug_dir);
    if (file == nullptr) {
      if (IsFile(path)) Note(path + " cannot be read: its functions have no names");
      return;
    }
    named_without_id_ = true;
    const std::vector<LoadedSegment> segments = file->Segments();
    for (Location* location : locations) {
      uint64_t address = 0;
      if (!AddressInFile(segments, MappingOf(*location), location->address, &address)) continue;
      Name(file->At(address, file->StartOf(address)), location);
    }
  }

  void NameById(const std::string& path, const std::string& build_id, const Locations& locations) {
    recording::CodeIdentity code;
    code.path = path;
    code.build_id = build_id;
    code.is_program = path == profile_->program;
    recording::CodeNamer namer(code, sources_);
    const std::vector<LoadedSegment> segments = namer.Segments();
    bool is_missing = segments.empty();
    for (Location* location : locations) {
      uint64_t address = 0;
      if (!AddressInFile(segments, MappingOf(*location), location->address, &address)) continue;
      const std::vector<CodeFrame> frames = namer.At(address);
      is_missing |= frames.empty();
      Name(frames, location);
    }
    if (!is_missing || !IsFile(path)) return;
    const bool is_there = CodeFile::Open(path, sources_.debug_dir) != nullptr;
    Note(path + (is_there ? " is of another build" : " cannot be read") +
         ": its functions have no names");
  }

  const Mapping& MappingOf(const Location& location) const {
    return profile_->mappings[location.mapping];
  }

  void Name(const std::vector<CodeFrame>& frames, Location* location) {
    if (frames.empty() || !frames.front().named) return;
    location->lines.clear();
    for (const CodeFrame& frame : frames) {
      location->lines.push_back({FunctionOf(frame), static_cast<uint32_t>(std::max(frame.line, 0)),
                                 static_cast<uint32_t>(std::max(frame.column, 0))});
    }
  }

  uint32_t FunctionOf(const CodeFrame& frame) {
    const auto number = static_cast<uint32_t>(profile_->functions.size());
    heap::Function function = recording::FunctionOf(frame);
    const auto [at, is_new] =
        functions_.try_emplace({function.name, function.file, function.start_line}, number);
    if (is_new) profile_->functions.push_back(std::move(function));
    ALLOMON_DCHECK_LT("inv.load.numbers", at->second, profile_->functions.size());
    return at->second;
  }

  const NameSources& sources_;
  const Unidentified unidentified_;
  HeapProfile* const profile_;
  // By name, file and line.
  std::map<std::tuple<std::string, std::string, uint32_t>, uint32_t> functions_;
  bool named_without_id_ = false;
};

std::vector<LoadedSegment> SegmentsOf(const NameSources& sources, const Mapping& mapping) {
  const auto file = CodeFile::Open(mapping.path, sources.debug_dir);
  const bool is_it =
      file != nullptr && (mapping.build_id.empty() || file->BuildId() == mapping.build_id);
  return is_it ? file->Segments() : PackedSegments(sources, mapping.build_id, mapping.path);
}

}  // namespace

void NameLocations(const NameSources& sources, Unidentified unidentified, HeapProfile* profile) {
  Namer(sources, unidentified, profile).NameAll();
}

void NarrowMappings(const NameSources& sources, HeapProfile* profile) {
  for (Mapping& mapping : profile->mappings) {
    if (mapping.path.empty() || mapping.path[0] != '/') continue;
    Narrow(SegmentsOf(sources, mapping), &mapping);
  }
}

}  // namespace allomon::interchange
