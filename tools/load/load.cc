#include "tools/load/load.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/join.h"
#include "tools/load/import.h"
#include "tools/load/naming.h"
#include "tools/load/read_bytes.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/options/values.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"
#include "tools/process/places.h"
#include "tools/text/plain_text.h"
#include "tracker/base/check.h"
#include "tracker/formats/recording.h"
#include "tracker/formats/recording_bytes.h"
#include "tracker/names/base_name.h"

namespace allomon::load {
namespace {

using heap::HeapProfile;

constexpr size_t kMostNames = 8;

std::string NameOf(const HeapProfile& profile) {
  return Printable(BaseName(profile.program), Charset::kUtf8);
}

// Returns the names of all profiles except the one at index `except`.
std::string NamesOf(const std::vector<HeapProfile>& profiles, size_t except) {
  std::string names;
  size_t count = 0;
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (i == except) continue;
    if (++count > kMostNames) return names + ", ...";
    names += (count == 1 ? "" : ", ") + NameOf(profiles[i]);
  }
  return names;
}

// Chooses among the profiles of a recording's programs the first whose path contains `program`; a
// note names the others.  Fails with one line, which names the file and its programs, if no path
// contains it.
absl::StatusOr<HeapProfile> ChooseProgram(const std::string& file, const std::string& program,
                                          absl::StatusOr<std::vector<HeapProfile>> profiles) {
  if (!profiles.ok()) return profiles.status();
  size_t chosen = 0;
  while (chosen < profiles->size() &&
         (*profiles)[chosen].program.find(program) == std::string::npos) {
    ++chosen;
  }
  if (chosen == profiles->size()) {
    return absl::InvalidArgumentError(file + " has no program " + program + ": it has " +
                                      NamesOf(*profiles, chosen));
  }
  const std::string others = NamesOf(*profiles, chosen);
  HeapProfile profile = std::move((*profiles)[chosen]);
  if (!others.empty()) profile.notes.push_back("other programs of this recording: " + others);
  return profile;
}

// Whether the code of a mapping is in the pack.  Code without a build id goes by its path.
bool Has(const SymbolPack& pack, const heap::Mapping& mapping) {
  if (!mapping.build_id.empty()) return pack.Find(PackKey(mapping.build_id, {})) != nullptr;
  return std::any_of(pack.code().begin(), pack.code().end(),
                     [&](const auto& code) { return code.second.path == mapping.path; });
}

// Whether a pack of symbols is of the profile's program.  A pack of libraries alone is if it has a
// library of the program.
bool IsOf(const HeapProfile& profile, const SymbolPack& pack) {
  bool has_program = false;
  bool has_any = false;
  bool knows_program = false;
  for (const heap::Mapping& mapping : profile.mappings) {
    const bool is_program = mapping.path == profile.program;
    const bool has = Has(pack, mapping);
    has_any |= has;
    knows_program |= is_program;
    has_program |= has && is_program;
  }
  const bool is_of_libraries =
      std::none_of(pack.code().begin(), pack.code().end(),
                   [](const auto& code) { return code.second.is_program; });
  return has_program || (has_any && (is_of_libraries || !knows_program));
}

// Returns why names of the packs cannot be the profile's; empty if one of them fits, or if there is
// no code to name.
std::string WhyNotOf(const std::vector<NamedPack>& packs, const HeapProfile& profile) {
  const auto fits = [&](const NamedPack& each) { return IsOf(profile, *each.pack); };
  if (packs.empty() || profile.mappings.empty()) return "";
  if (std::any_of(packs.begin(), packs.end(), fits)) return "";
  std::string programs;
  for (const auto& [key, code] : packs.front().pack->code()) {
    if (code.is_program) programs += (programs.empty() ? "" : ", ") + BaseName(code.path);
  }
  return packs.front().file + " has the symbols of " +
         (programs.empty() ? "other code" : Printable(programs, Charset::kUtf8)) +
         ", not of this build of " + NameOf(profile) + ": make one of this recording";
}

bool IsBelow(uint32_t number, size_t count) { return number < count || number == heap::kNone; }

// True if each number in a profile is one of its own tables, or kNone.
[[maybe_unused]] bool HasOwnNumbers(const HeapProfile& profile) {
  for (const heap::Location& location : profile.locations) {
    if (!IsBelow(location.mapping, profile.mappings.size())) return false;
    for (const heap::Line& line : location.lines) {
      if (line.function >= profile.functions.size()) return false;
    }
  }
  for (const heap::Sample& sample : profile.samples) {
    if (!IsBelow(sample.thread, profile.threads.size())) return false;
    for (const uint32_t location : sample.stack) {
      if (location >= profile.locations.size()) return false;
    }
  }
  return true;
}

absl::StatusOr<HeapProfile> Checked(const LoadOptions& options,
                                    absl::StatusOr<HeapProfile> profile) {
  ALLOMON_DCHECK("inv.load.numbers", !profile.ok() || HasOwnNumbers(*profile));
  if (!profile.ok()) return profile;
  const std::string why_not = WhyNotOf(options.name_sources.packs, *profile);
  if (!why_not.empty()) return absl::InvalidArgumentError(why_not);
  return profile;
}

constexpr size_t kFirstBytes = 256;

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::InvalidArgumentError(name + " " + std::string(status.message()));
}

absl::Status Unknown() {
  return absl::InvalidArgumentError(
      "is no heap profile: give a recording, a pprof file, heap_v2 or \"heap profile:\" of "
      "jemalloc, gperftools or tcmalloc, collapsed stacks, or an mlmon.out, compressed by gzip or "
      "not");
}

recording::RecordingOptions OptionsOf(const LoadOptions& options) {
  return {options.name_sources, options.names};
}

absl::StatusOr<HeapProfile> ParseRecording(const std::string& name, std::string_view bytes,
                                           const LoadOptions& options) {
  return ChooseProgram(
      name, options.program,
      recording::ReadRecordingProfiles(recording::MemoryBytes(bytes.data(), bytes.size()), name,
                                       OptionsOf(options)));
}

absl::StatusOr<HeapProfile> ParseHeapV2(std::string_view bytes, const LoadOptions& options) {
  auto profile = interchange::ImportHeapV2(bytes);
  if (profile.ok() && options.names) {
    interchange::NameLocations(options.name_sources, interchange::Unidentified::kNameAsItIs,
                               &*profile);
  }
  return profile;
}

// The writer had its chance to name the code.  Names are looked for again if the user says where.
absl::StatusOr<HeapProfile> ParsePprof(std::string_view bytes, const LoadOptions& options) {
  auto profile = pprof::DecodePprof(bytes);
  if (profile.ok() && options.names && options.name_sources.AreTold()) {
    interchange::NameLocations(options.name_sources, interchange::Unidentified::kLeave, &*profile);
  }
  return profile;
}

// Parses all formats except recordings.
absl::StatusOr<HeapProfile> ParsePlain(std::string_view bytes, const LoadOptions& options) {
  if (bytes.empty()) return absl::InvalidArgumentError("is empty: record the program again");
  if (pprof::LooksLikePprof(bytes)) return ParsePprof(bytes, options);
  if (interchange::LooksLikeHeapV2(bytes)) return ParseHeapV2(bytes, options);
  if (interchange::LooksLikeCollapsed(bytes)) {
    return interchange::ImportCollapsed(bytes, options.counts_metric);
  }
  return Unknown();
}

// A recording is not read into memory as a whole, because most of it is holes.
bool IsRecordingFile(const std::string& path) {
  recording::FileBytes file;
  std::string error;
  if (path == "-" || !file.Open(path, &error)) return false;
  std::string first_bytes(std::min<uint64_t>(file.size(), kFirstBytes), '\0');
  return file.Read(0, first_bytes.data(), first_bytes.size()) &&
         recording::LooksLikeRecording(first_bytes);
}

absl::StatusOr<HeapProfile> LoadProcess(uint32_t pid, const LoadOptions& options) {
  const auto path = RecordingMappedBy(pid);
  if (!path.ok()) return path.status();
  recording::RecordingOptions chosen = OptionsOf(options);
  chosen.running = process::IdsOf(pid);
  chosen.seen_nanos = recording::NanosSinceStart;
  const std::string name = "process " + std::to_string(pid);
  recording::FileBytes bytes;
  std::string what;
  if (!bytes.Open(*path, &what)) return absl::InvalidArgumentError(name + ": " + what);
  return ChooseProgram(name, options.program,
                       recording::ReadRecordingProfiles(bytes, name, chosen));
}

absl::StatusOr<HeapProfile> LoadMlmon(const std::string& path, std::string_view text) {
  const auto script = ReadBytes(path + ".sources", pprof::kMaxFileBytes);
  if (!script.ok()) {
    return absl::InvalidArgumentError("the names of " + path +
                                      " are missing: " + std::string(script.status().message()));
  }
  auto profile = interchange::ImportMlmon(text, *script);
  return profile.ok() ? std::move(profile) : Named(path, profile.status());
}

// Returns why two profiles must not be added up; empty if they may.
std::string WhyNot(const heap::HeapProfile& sum, const heap::HeapProfile& other) {
  const std::string why_not = WhyNotOneProgram(sum, other);
  if (!why_not.empty()) return why_not;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (sum.has[i] && other.has[i]) return "";
  }
  return "counts nothing that the other files count: give files of one kind";
}

}  // namespace

absl::StatusOr<HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                             const LoadOptions& options) {
  if (pprof::IsGzip(bytes)) {
    auto contents = pprof::Gunzip(bytes);
    if (!contents.ok()) return Named(name, contents.status());
    bytes = *std::move(contents);
  }
  if (recording::LooksLikeRecording(bytes)) {
    return Checked(options, ParseRecording(name, bytes, options));
  }
  auto profile = ParsePlain(bytes, options);
  return profile.ok() ? Checked(options, std::move(profile)) : Named(name, profile.status());
}

uint32_t ProcessOf(const std::string& name) {
  constexpr std::string_view kFolder = "/proc/";
  const bool is_folder = name.rfind(kFolder, 0) == 0;
  uint32_t pid = 0;
  if (!options::ParsePid(is_folder ? name.substr(kFolder.size()) : name, &pid).ok()) return 0;
  return is_folder || access(name.c_str(), F_OK) != 0 ? pid : 0;
}

uint32_t RecordingChildOf(uint32_t pid) {
  for (const uint32_t child : process::ChildrenOf(pid)) {
    const auto paths = process::PathsOfShared(child);
    if (paths && std::any_of(paths->begin(), paths->end(), IsRecordingFile)) return child;
  }
  return 0;
}

absl::StatusOr<std::string> RecordingMappedBy(uint32_t pid) {
  const std::string name = "process " + std::to_string(pid);
  if (access(("/proc/" + std::to_string(pid)).c_str(), F_OK) != 0) {
    return absl::NotFoundError(name + " is not there, and no file has this name");
  }
  const auto paths = process::PathsOfShared(pid);
  if (!paths.has_value()) {
    return absl::PermissionDeniedError(
        name +
        " shows no memory: it has ended, is one of the kernel's, or belongs to another user: "
        "ask as that user, or as root");
  }
  const auto path = std::find_if(paths->begin(), paths->end(), IsRecordingFile);
  if (path != paths->end()) return *path;
  const std::string memory_file = std::string("/memfd:") + recording::kMemoryFileName;
  if (std::any_of(paths->begin(), paths->end(),
                  [&](const std::string& each) { return each.rfind(memory_file, 0) == 0; })) {
    return absl::PermissionDeniedError(
        name +
        " records for an allomon run that has ended, or no longer is its ancestor: ask as "
        "root, who alone may open the file");
  }
  if (const uint32_t child = RecordingChildOf(pid)) {
    return absl::FailedPreconditionError(name + " records nothing, but process " +
                                         std::to_string(child) + " does, which it has started");
  }
  return absl::FailedPreconditionError(name + " records nothing: allomon run records from the " +
                                       "start on; one that idles begins by allomon ctl " +
                                       std::to_string(pid) + " start");
}

bool HasAnyOf(const process::Ids& process, const std::string& recording) {
  recording::FileBytes bytes;
  recording::Recording contents;
  std::string what;
  if (!bytes.Open(recording, &what) || !ReadRecording(bytes, &contents, &what)) return true;
  recording::KeepRunning(process, &contents.processes);
  return !contents.processes.empty();
}

absl::StatusOr<HeapProfile> LoadHeapProfile(const std::string& path, const LoadOptions& options) {
  if (const uint32_t pid = ProcessOf(path)) return Checked(options, LoadProcess(pid, options));
  if (IsRecordingFile(path)) {
    return Checked(options,
                   ChooseProgram(path, options.program,
                                 recording::ReadRecordingProfiles(path, OptionsOf(options))));
  }
  auto bytes = ReadBytes(path, pprof::kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  if (interchange::LooksLikeMlmon(*bytes)) return Checked(options, LoadMlmon(path, *bytes));
  return ParseHeapProfile(path, *std::move(bytes), options);
}

bool LooksLikeHeapProfile(std::string_view first_bytes) {
  return pprof::IsGzip(first_bytes) || recording::LooksLikeRecording(first_bytes) ||
         pprof::LooksLikePprof(first_bytes) || interchange::LooksLikeHeapV2(first_bytes) ||
         interchange::LooksLikeCollapsed(first_bytes);
}

std::string WhyNotOneProgram(const heap::HeapProfile& sum, const heap::HeapProfile& other) {
  const std::string first = BaseName(sum.program);
  const std::string second = BaseName(other.program);
  if (first.empty() || second.empty() || first == second) return "";
  return "is of " + second + ", not of " + first + ": give files of one program";
}

absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const LoadOptions& options, report::Progress* progress) {
  heap::HeapProfile sum;
  for (size_t i = 0; i < files.size(); ++i) {
    if (progress != nullptr) {
      progress->Show("reading " + std::to_string(i + 1) + " of " + std::to_string(files.size()));
    }
    auto profile = LoadHeapProfile(files[i], options);
    if (!profile.ok()) return profile.status();
    if (i == 0) {
      sum = *std::move(profile);
      continue;
    }
    const std::string why_not = WhyNot(sum, *profile);
    if (!why_not.empty()) return absl::InvalidArgumentError(files[i] + " " + why_not);
    heap::AddProfile(*profile, &sum);
    ALLOMON_DCHECK("inv.load.numbers", HasOwnNumbers(sum));
  }
  return sum;
}

}  // namespace allomon::load
