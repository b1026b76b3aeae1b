#include "tools/load/naming.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/symbols/code_file.h"
#include "tracker/base/check.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Location;
using heap::Mapping;

constexpr uint64_t kPageBytes = 4096;

// Narrows the mapping to the code segment, if it begins where the file's first loaded segment does.
void Narrow(const CodeFile& file, Mapping* mapping) {
  uint64_t first_address = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  if (!file.AddressOfOffset(mapping->file_offset, &first_address)) return;
  if (!file.CodeSegment(&offset, &address, &bytes)) return;
  const uint64_t within_page = address % kPageBytes;
  if (offset < within_page || offset - within_page <= mapping->file_offset) return;
  const uint64_t bias = mapping->begin - first_address;
  const uint64_t begin = bias + address - within_page;
  if (begin < mapping->begin || begin >= mapping->end) return;
  mapping->begin = begin;
  mapping->end = std::min(mapping->end, bias + address + bytes);
  mapping->file_offset = offset - within_page;
}

class Namer {
 public:
  Namer(const std::string& debug_folder, HeapProfile* profile)
      : debug_folder_(debug_folder), profile_(profile) {}

  void NameAll() {
    for (const auto& [path, locations] : UnnamedByFile()) {
      const std::unique_ptr<CodeFile> file = CodeFile::Open(path, debug_folder_);
      if (file == nullptr) {
        if (IsFile(path)) Note(path + " cannot be read: its functions have no names");
        continue;
      }
      for (Location* location : locations) Name(*file, path, location);
    }
    if (named_without_id_) {
      Note("names are those of the files as they are now: the profile has no build ids");
    }
  }

 private:
  using ByFile = std::map<std::string, std::vector<Location*>>;

  ByFile UnnamedByFile() {
    ByFile unnamed;
    for (Location& location : profile_->locations) {
      if (!location.lines.empty() || location.mapping == heap::kNone) continue;
      unnamed[profile_->mappings[location.mapping].path].push_back(&location);
    }
    return unnamed;
  }

  // False for "[vdso]" and similar names.
  static bool IsFile(const std::string& path) { return !path.empty() && path[0] == '/'; }

  void Note(std::string line) { profile_->notes.push_back(std::move(line)); }

  bool IsSame(const CodeFile& file, const std::string& path, const Mapping& mapping) {
    if (mapping.build_id.empty()) {
      named_without_id_ = true;
      return true;
    }
    if (file.BuildId() == mapping.build_id) return true;
    if (noted_ != path) Note(path + " is of another build: its functions have no names");
    noted_ = path;
    return false;
  }

  void Name(const CodeFile& file, const std::string& path, Location* location) {
    ALLOMON_DCHECK_LT("inv.load.numbers", location->mapping, profile_->mappings.size());
    const Mapping& mapping = profile_->mappings[location->mapping];
    if (!IsSame(file, path, mapping)) return;
    uint64_t address = 0;
    const uint64_t offset = location->address - mapping.begin + mapping.file_offset;
    if (!file.AddressOfOffset(offset, &address)) return;
    const std::vector<CodeFrame> frames = file.At(address, address);
    ALLOMON_DCHECK("inv.load.asked", !frames.empty());
    if (!frames.front().named) return;
    for (const CodeFrame& frame : frames) {
      const auto line = static_cast<uint32_t>(frame.line > 0 ? frame.line : 0);
      location->lines.push_back({FunctionOf(frame), line});
    }
  }

  uint32_t FunctionOf(const CodeFrame& frame) {
    const auto number = static_cast<uint32_t>(profile_->functions.size());
    const auto [at, is_new] = functions_.try_emplace({frame.name, frame.file}, number);
    if (is_new) profile_->functions.push_back({frame.name, "", frame.file, 0});
    ALLOMON_DCHECK_LT("inv.load.numbers", at->second, profile_->functions.size());
    return at->second;
  }

  const std::string& debug_folder_;
  HeapProfile* const profile_;
  std::map<std::pair<std::string, std::string>, uint32_t> functions_;  // by name and file
  std::string noted_;  // the last file that got a note because it is of another build
  bool named_without_id_ = false;
};

}  // namespace

void NameLocations(const std::string& debug_folder, HeapProfile* profile) {
  Namer(debug_folder, profile).NameAll();
}

void NarrowMappings(HeapProfile* profile) {
  for (Mapping& mapping : profile->mappings) {
    if (mapping.path.empty() || mapping.path[0] != '/') continue;
    const std::unique_ptr<CodeFile> file = CodeFile::Open(mapping.path, "");
    if (file == nullptr) continue;
    if (!mapping.build_id.empty() && file->BuildId() != mapping.build_id) continue;
    Narrow(*file, &mapping);
  }
}

}  // namespace allomon::interchange
