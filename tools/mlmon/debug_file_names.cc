#include "tools/mlmon/debug_file_names.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tools/symbols/code_file.h"
#include "tracker/names/base_name.h"
#include "tracker/names/wrappers.h"

namespace allomon::report {
namespace {

using Frames = std::vector<CodeFrame>;
using Place = std::pair<uint32_t, uint64_t>;  // module and address

Place StartOf(const CodeAddress& at) { return {at.module, at.start}; }

std::string OffsetIn(const std::string& path, uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof(text), ": 0x%" PRIx64, address);
  return BaseName(path) + text;
}

// Reads the code of a profile's modules.
class Code {
 public:
  Code(const std::vector<CodeModule>& modules, const std::string& debug_folder)
      : modules_(modules), debug_folder_(debug_folder) {}

  // Returns the frames, innermost first; empty if the file that ran is not there.
  const Frames& At(const CodeAddress& at) {
    const auto [found, is_new] = frames_.try_emplace({at.module, at.address});
    const CodeFile* const file = FileOf(at.module);
    if (is_new && file != nullptr) found->second = file->At(at.address, at.start);
    return found->second;
  }

  // Returns a line for each file that cannot name functions which have no names in the profile.
  std::vector<std::string> NotesOnUnnamed(const Profile& profile) {
    std::set<uint32_t> noted;
    for (const CallSite& site : profile.call_sites.sites) {
      const uint32_t module = site.frames.front().module;
      const std::string& path = modules_[module].path;
      const std::string unnamed = BaseName(path) + "+0x";
      const std::string& name = profile.program.table.names[site.name_index].name;
      if (path[0] != '/' || name.rfind(unnamed, 0) != 0 || FileOf(module) != nullptr) continue;
      noted.insert(module);
    }
    std::vector<std::string> notes;
    for (const uint32_t module : noted) {
      const std::string& path = modules_[module].path;
      const bool is_there = CodeFile::Open(path, debug_folder_) != nullptr;
      const bool is_known = !modules_[module].build_id.empty() || modules_[module].file.is_known();
      notes.push_back(path +
                      (!is_there  ? " is not there any more"
                       : is_known ? " has changed since"
                                  : " cannot be told from another file (it has no build id)") +
                      "; functions without names are named by their addresses");
    }
    return notes;
  }

  std::string PositionOf(const CodeAddress& at, const CodeFrame& frame) {
    if (!frame.file.empty()) return frame.file + ": " + std::to_string(frame.line);
    return OffsetIn(modules_[at.module].path, at.start);
  }

 private:
  const CodeFile* FileOf(uint32_t module) {
    const auto [found, is_new] = files_.try_emplace(module);
    if (is_new) found->second = Open(modules_[module]);
    return found->second.get();
  }

  // Opens a file only if it is the one that ran: another file's names would be worse than no names.
  std::unique_ptr<CodeFile> Open(const CodeModule& module) const {
    if (module.build_id.empty() && !module.file.is_known()) return nullptr;
    auto file = CodeFile::Open(module.path, debug_folder_);
    return file != nullptr && IsOf(module, *file) ? std::move(file) : nullptr;
  }

  static bool IsOf(const CodeModule& module, const CodeFile& file) {
    if (!module.build_id.empty()) return file.BuildId() == module.build_id;
    return file.identity() == module.file;
  }

  const std::vector<CodeModule>& modules_;
  const std::string debug_folder_;
  std::map<uint32_t, std::unique_ptr<CodeFile>> files_;
  std::map<Place, Frames> frames_;
};

// Divides a whole by shares, so that the parts add up to it.
class Divider {
 public:
  Divider(MlmonInt whole, MlmonInt shares) : whole_(whole), left_(whole), shares_(shares) {}

  // Callers take the last share by TakeRest() if the parts must add up.
  MlmonInt Take(MlmonInt share) {
    const MlmonInt part = Part(share);
    left_ -= part;
    return part;
  }
  MlmonInt TakeRest() { return left_; }

 private:
  MlmonInt Part(MlmonInt share) const {
    MlmonInt product = 0;
    if (shares_ <= 0 || __builtin_mul_overflow(whole_, share, &product)) return 0;
    return product / shares_;
  }

  const MlmonInt whole_;
  MlmonInt left_;
  const MlmonInt shares_;
};

// A function of the new table.
struct Row {
  SourceName name;
  MlmonCount count;
  uint32_t callers = 0;
  std::map<std::string, MlmonInt> positions;  // amounts by line of the function
};

class Namer {
 public:
  Namer(const std::string& debug_folder, Profile* profile)
      : profile_(*profile),
        wrappers_(profile->call_sites.wrappers),
        code_(profile->call_sites.modules, debug_folder),
        sites_of_(profile->program.table.names.size()) {
    for (const CallSite& site : profile->call_sites.sites) {
      sites_of_[site.name_index].push_back(&site);
    }
  }

  void Run() {
    profile_.notes = code_.NotesOnUnnamed(profile_);
    const bool has_stack = profile_.data.style == ProfileStyle::kStack;
    for (uint32_t i = 0; i < sites_of_.size(); ++i) {
      if (sites_of_[i].empty() || has_stack) {
        rows_.push_back(
            {profile_.program.table.names[i], profile_.data.masters[i], CallersOf(i), {}});
      } else {
        ShareOut(i);
      }
    }
    if (has_stack) NameInPlace();
    Store();
  }

 private:
  using Sites = std::vector<const CallSite*>;

  // The source function that is charged for an address.
  struct Found {
    std::string name;
    std::string position;
    bool is_innermost = false;  // it is the function at the address itself
  };

  uint32_t CallersOf(uint32_t index) const {
    const std::vector<uint32_t>& callers = profile_.call_sites.callers;
    return index < callers.size() ? callers[index] : 0;
  }

  Found FunctionOf(uint32_t index, const CallSite& site) {
    for (const CodeAddress& at : site.frames) {
      const Frames& frames = code_.At(at);
      if (frames.empty()) break;
      for (const CodeFrame& frame : frames) {
        // A tick is recorded at its function's start, where inlined calls must not be charged.
        const bool is_meant = at.address != at.start || &frame == &frames.back();
        if (!is_meant || wrappers_.Contain(frame.name)) continue;
        return Describe(index, site, at, frame, &frame == &frames.back());
      }
    }
    // Only wrappers are known, or nothing is known.
    const CodeAddress& first = site.frames.front();
    const Frames& frames = code_.At(first);
    if (frames.empty()) return AsWritten(index);
    return Describe(index, site, first, frames.back(), true);
  }

  Found AsWritten(uint32_t index) const {
    const SourceName& name = profile_.program.table.names[index];
    return {name.name, name.position, true};
  }

  Found Describe(uint32_t index, const CallSite& site, const CodeAddress& at,
                 const CodeFrame& frame, bool is_outermost) {
    const bool is_own = is_outermost && &at == &site.frames.front();
    const Found written = AsWritten(index);
    if (is_own && !frame.named) return written;
    // The process may have known a line although no debug file is found any more.
    const bool keeps_position = is_own && frame.file.empty();
    return {frame.name, keeps_position ? written.position : code_.PositionOf(at, frame), is_own};
  }

  Row& RowOf(const Found& found) {
    const std::string file = found.position.substr(0, found.position.rfind(": "));
    const auto [place, is_new] = row_of_.try_emplace({found.name, file}, rows_.size());
    if (is_new) rows_.push_back({{found.name, found.position}, {}, 0, {}});
    return rows_[place->second];
  }

  // Divides the amount of a function among its call sites.
  void ShareOut(uint32_t index) {
    const Sites& sites = sites_of_[index];
    MlmonInt shares = 0;
    for (const CallSite* site : sites) shares += site->amount;
    Divider divider(profile_.data.masters[index].current, shares);
    for (const CallSite* site : sites) {
      const MlmonInt part = site == sites.back() ? divider.TakeRest() : divider.Take(site->amount);
      const Found found = FunctionOf(index, *site);
      Row& row = RowOf(found);
      row.count.current += part;
      row.positions[found.position] += part;
      if (found.is_innermost) row.callers = std::max(row.callers, CallersOf(index));
    }
  }

  // Keeps the rows, but moves the own amounts of wrappers to their callers' rows.
  void NameInPlace() {
    std::map<Place, uint32_t> row_at;
    for (uint32_t i = 0; i < sites_of_.size(); ++i) {
      if (!sites_of_[i].empty()) row_at[StartOf(sites_of_[i][0]->frames[0])] = i;
    }
    for (uint32_t i = 0; i < sites_of_.size(); ++i) {
      for (const CallSite* site : sites_of_[i]) NameBySite(i, *site, row_at);
    }
  }

  void NameBySite(uint32_t index, const CallSite& site, const std::map<Place, uint32_t>& row_at) {
    const Frames& frames = code_.At(site.frames.front());
    if (frames.empty()) return;
    const Found own = Describe(index, site, site.frames.front(), frames.back(), true);
    rows_[index].name.name = own.name;
    rows_[index].positions[own.position] += site.amount;
    if (wrappers_.Contain(own.name)) GiveToCaller(index, site, row_at);
  }

  void GiveToCaller(uint32_t index, const CallSite& site, const std::map<Place, uint32_t>& row_at) {
    MlmonInt shares = 0;
    for (const CallSite* each : sites_of_[index]) shares += each->amount;
    for (size_t i = 1; i < site.frames.size(); ++i) {
      const Frames& frames = code_.At(site.frames[i]);
      if (frames.empty() || wrappers_.Contain(frames.back().name)) continue;
      const auto row = row_at.find(StartOf(site.frames[i]));
      if (row == row_at.end()) return;
      const MlmonInt part = Divider(profile_.data.masters[index].current, shares).Take(site.amount);
      rows_[index].count.current -= part;
      rows_[row->second].count.current += part;
      return;
    }
  }

  // Returns the line with the largest amount.
  static std::string MainPosition(const Row& row) {
    const auto main =
        std::max_element(row.positions.begin(), row.positions.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return main == row.positions.end() ? row.name.position : main->first;
  }

  void Store() {
    SourceTable& table = profile_.program.table;
    table.names.clear();
    profile_.data.masters.clear();
    profile_.call_sites.callers.clear();
    for (const Row& row : rows_) {
      table.names.push_back({row.name.name, MainPosition(row)});
      profile_.data.masters.push_back(row.count);
      profile_.call_sites.callers.push_back(row.callers);
    }
    profile_.program.is_split.assign(rows_.size(), false);
  }

  Profile& profile_;
  const Wrappers wrappers_;
  Code code_;
  std::vector<Sites> sites_of_;
  std::vector<Row> rows_;
  std::map<std::pair<std::string, std::string>, size_t> row_of_;  // by name and file
};

}  // namespace

void NameByDebugFiles(const std::string& debug_folder, Profile* profile) {
  if (!profile->call_sites.sites.empty()) Namer(debug_folder, profile).Run();
}

}  // namespace allomon::report
