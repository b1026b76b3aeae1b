#include "tools/load/recording/locations.h"

#include <algorithm>
#include <string>

#include "tracker/base/check.h"

namespace allomon::recording {
namespace {

// Limits the bytes of all names, because a hostile recording may refer to the same bytes again and
// again.
constexpr uint64_t kMostNameBytes = uint64_t{256} << 20;
constexpr size_t kMostNamePart = 4096;
// The path of generated code in packs of symbols.
constexpr char kGenerated[] = "[generated]";

// Removes the part up to the next tab, and the tab, and returns the part.
std::string_view TakePart(std::string_view* rest) {
  const size_t tab = rest->find('\t');
  const std::string_view part = rest->substr(0, std::min(tab, kMostNamePart));
  ALLOMON_DCHECK_LE("inv.load.parts", part.size(), rest->size());
  rest->remove_prefix(tab == std::string_view::npos ? rest->size() : tab + 1);
  return part;
}

uint32_t LineOf(std::string_view text) {
  uint32_t line = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || line >= kMostLine / 10) return 0;
    line = line * 10 + static_cast<uint32_t>(digit - '0');
  }
  return line;
}

// 0: it has ended, or cannot be seen.
uint32_t PidOf(const Process& process, process::Running* running) {
  if (process.record.ended || process.record.lost) return 0;
  return running->Find(DescriptionOf(process));
}

}  // namespace

process::Description DescriptionOf(const Process& process) {
  process::Description description;
  description.id_inside = process.record.pid;
  description.start_realtime_nanos = process.record.start_realtime_nanos;
  for (const Module& module : process.modules) {
    // The kernel's own code is in no file.
    const std::string_view path = process.TextOf(module.path);
    const bool is_file = path.empty() || path.find('/') != std::string_view::npos;
    if (module.begin != 0 && module.moved_by == 0 && is_file) {
      description.files_begin.push_back(module.begin);
    }
  }
  return description;
}

std::vector<uint32_t> Locations::Add(const Process& process) {
  const ModuleMap modules(process.modules);
  running_pid_ = reads_perf_maps_ ? PidOf(process, &names_.running()) : 0;
  const FileNumbers files = AddFiles(process);
  perf_map_.reset();
  std::vector<uint32_t> locations;
  locations.reserve(process.nodes.size());
  for (const Node& node : process.nodes) {
    const bool is_frame = node.kind != static_cast<uint8_t>(NodeKind::kType);
    locations.push_back(is_frame ? Intern(PlaceOf(process, modules, files, node)) : heap::kNone);
  }
  ALLOMON_DCHECK_EQ("inv.load.rows", locations.size(), process.nodes.size());
  return locations;
}

uint32_t Locations::AddCut() {
  if (cut_ != kNoFile) return cut_;
  const uint32_t function = names_.AddFunction({"[callers left out]", "", "", 0});
  return cut_ = Intern({kFunction, uint64_t{function} << 32});
}

uint32_t Locations::Intern(const Place& place) {
  const auto [found, is_new] = index_of_.try_emplace(place, static_cast<uint32_t>(places_.size()));
  if (!is_new) return found->second;
  places_.push_back(place);
  ALLOMON_DCHECK_EQ("inv.load.numbers", found->second + size_t{1}, places_.size());
  if (place.file < kFunction) names_.Ask(place.file, place.address);
  return found->second;
}

Locations::FileNumbers Locations::AddFiles(const Process& process) {
  FileNumbers files;
  for (const Module& module : process.modules) {
    const std::string path(process.TextOf(module.path).substr(0, kMostNamePart));
    CodeIdentity code = IdentityOf(module, path.empty() ? process.program : path,
                                   process.record.start_realtime_nanos);
    if (running_pid_ != 0 && module.moved_by == 0) {
      code.mapped_by = running_pid_;
      code.mapped_at = module.begin;
    }
    files.push_back(names_.AddFile(code));
  }
  ALLOMON_DCHECK_EQ("inv.load.rows", files.size(), process.modules.size());
  return files;
}

Locations::Place Locations::PlaceOf(const Process& process, const ModuleMap& modules,
                                    const FileNumbers& files, const Node& node) {
  if (node.kind == static_cast<uint8_t>(NodeKind::kNamed)) {
    return NamedPlace(process.NameOf(node));
  }
  const bool is_return = node.kind == static_cast<uint8_t>(NodeKind::kReturnAddress);
  const uint64_t address = node.address - (is_return && node.address > 0 ? 1 : 0);
  const ModuleMap::Range* const range = modules.Find(address);
  if (range == nullptr) return GeneratedPlace(process, address);
  ALLOMON_DCHECK_LT("inv.load.numbers", range->module, files.size());
  AddMapping(*range, files[range->module]);
  return {files[range->module], address - range->bias};
}

Locations::Place Locations::NamedPlace(std::string_view name_file_line) {
  std::string_view rest = name_file_line;
  std::string name(TakePart(&rest));
  std::string file(TakePart(&rest));
  const uint32_t line = LineOf(TakePart(&rest));
  name_bytes_ += name.size() + file.size();
  if (name.empty() || name_bytes_ > kMostNameBytes) return {kNoFile, 0};
  const uint32_t function = names_.AddFunction({std::move(name), "", std::move(file), 0});
  has_named_ = true;
  return {kFunction, uint64_t{function} << 32 | line};
}

// Names code that is in no module: the process generated it.
Locations::Place Locations::GeneratedPlace(const Process& process, uint64_t address) {
  if (!reads_perf_maps_) return {kNoFile, address};
  CodeFrame frame = GeneratedFrame(process, address);
  name_bytes_ += frame.name.size() + frame.file.size();
  if (frame.name.empty() || name_bytes_ > kMostNameBytes) return {kNoFile, address};
  const uint32_t function =
      names_.AddFunction({std::move(frame.name), "", std::move(frame.file), 0});
  has_named_ = true;
  return {kFunction, uint64_t{function} << 32 | static_cast<uint32_t>(frame.line)};
}

// Looks into the packs first, as for code of files.  Without a name if it is not known.
CodeFrame Locations::GeneratedFrame(const Process& process, uint64_t address) {
  const NameSources& sources = names_.sources();
  const std::string key = PackKeyOfProcess(process.record.pid, process.record.start_realtime_nanos);
  uint64_t start = address;
  std::vector<CodeFrame> frames;
  if (!PackedFramesAt(sources, key, address, kGenerated, &start, &frames)) {
    if (!perf_map_) {
      const uint32_t pid = running_pid_ != 0 ? running_pid_ : process.record.pid;
      perf_map_ = PerfMap::OfProcess(pid, process.record.start_realtime_nanos);
    }
    const GeneratedFunction parts = perf_map_->FindFunction(address);
    if (parts.name.empty()) return {};
    CodeFrame& frame = frames.emplace_back();
    frame.name = parts.name.substr(0, kMostNamePart);
    frame.file = parts.file.substr(0, kMostNamePart);
    frame.line = static_cast<int>(std::min(parts.line, kMostLine));
    frame.named = true;
  }
  frames.front().line = std::min(frames.front().line, static_cast<int>(kMostLine));
  if (sources.collected != nullptr) {
    sources.collected->AddCode(key, kGenerated, false, {});
    sources.collected->AddAddress(key, address, start, frames);
  }
  return std::move(frames.front());
}

void Locations::AddMapping(const ModuleMap::Range& range, uint32_t file) {
  const auto [place, is_new] = mapped_.try_emplace(file);
  if (!is_new) return;
  const CodeIdentity& code = names_.identity(file);
  place->second = {static_cast<uint32_t>(mappings_.size()), range.bias};
  mappings_.push_back({range.begin, range.end, 0, code.path, code.build_id});
}

void Locations::Store(heap::HeapProfile* profile) const {
  profile->mappings = mappings_;
  const auto interpreted = static_cast<uint32_t>(mappings_.size());
  if (has_named_) profile->mappings.push_back({0, 0, 0, heap::kInterpreted, ""});
  for (const auto& [file, mapped] : mapped_) {
    if (!names_.note(file).empty()) profile->notes.push_back(names_.note(file));
  }
  std::unordered_map<uint32_t, uint32_t> function_of;  // index in this profile, by number of all
                                                       // profiles
  for (const Place& place : places_) {
    heap::Location location = LocationOf(place);
    const bool is_cut = cut_ != kNoFile && place == places_[cut_];
    if (place.file == kFunction && !is_cut) location.mapping = interpreted;
    for (heap::Line& line : location.lines) {
      const auto [known, is_new] =
          function_of.try_emplace(line.function, static_cast<uint32_t>(profile->functions.size()));
      if (is_new) profile->functions.push_back(names_.functions()[line.function]);
      line.function = known->second;
    }
    profile->locations.push_back(std::move(location));
  }
}

heap::Location Locations::LocationOf(const Place& place) const {
  heap::Location location;
  if (place.file == kFunction) {
    location.lines.push_back(
        {static_cast<uint32_t>(place.address >> 32), static_cast<uint32_t>(place.address)});
  } else if (place.file == kNoFile) {
    location.address = place.address;
  } else {
    const Mapped& mapped = mapped_.at(place.file);
    location.address = place.address + mapped.bias;
    location.mapping = mapped.index;
    location.lines = names_.At(place.file, place.address);
    location.new_type = names_.NewTypeAt(place.file, place.address);
  }
  return location;
}

}  // namespace allomon::recording
