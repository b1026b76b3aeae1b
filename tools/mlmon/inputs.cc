#include "tools/mlmon/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "tools/mlmon/find_program.h"
#include "tools/mlmon/load_profile.h"
#include "tools/text/amounts.h"
#include "tracker/formats/scan.h"
#include "tracker/formats/source_table.h"

namespace allomon::report {
namespace {

constexpr std::string_view kProfileHead = "MLton prof\n";
constexpr char kDefaultProfile[] = "mlmon.out";

absl::Status Bad(const std::string& line) { return absl::InvalidArgumentError(line); }

struct ProfileText {
  std::string file;
  std::string text;
};

struct Inputs {
  std::vector<std::string> programs;
  std::vector<ProfileText> profiles;
};

bool IsProgram(const std::string& file, std::string_view text) {
  return text.substr(0, 2) == "#!" || text.substr(0, 4) == "\177ELF" ||
         access(file.c_str(), X_OK) == 0;
}

absl::Status CannotRead(const std::string& file, int error) {
  std::string line = "cannot read " + file + ": " + strerror(error);
  if (error == ENOENT) line += "; name the profile, which a profiled program writes when it ends";
  if (error == EACCES) line += "; make it readable";
  if (error == EISDIR) line += "; name the file in it";
  return Bad(line);
}

absl::Status AddInput(const std::string& file, Inputs* inputs) {
  std::string text;
  mlprof::ReadFailure failure;
  if (!mlprof::ReadFile(file, &text, &failure)) return CannotRead(file, failure.error);
  if (text.substr(0, kProfileHead.size()) == kProfileHead) {
    inputs->profiles.push_back({file, std::move(text)});
  } else if (IsProgram(file, text)) {
    inputs->programs.push_back(file);
  } else if (text.empty()) {
    return Bad(file + " is empty: profile the program again and let it end by itself");
  } else {
    const char* hint = text[0] == '{' ? "; a heap's snapshot is for allomon heap" : "";
    return Bad(file + " is neither a profile (\"MLton prof\" is not its first line) nor a program" +
               hint);
  }
  return absl::OkStatus();
}

absl::StatusOr<Inputs> ReadInputs(std::vector<std::string> files, Progress* progress) {
  Inputs inputs;
  for (size_t i = 0; i < files.size(); ++i) {
    progress->Show("reading " + std::to_string(i + 1) + " of " + std::to_string(files.size()));
    const absl::Status status = AddInput(files[i], &inputs);
    if (!status.ok()) return status;
  }
  return inputs;
}

absl::Status Damaged(const std::string& file, const std::string& why) {
  return Bad(file + " is cut short or damaged (" + why + "): profile the program again");
}

absl::Status Add(ProfileText input, Profile* profile, std::optional<Mlmon>* sum) {
  std::string error;
  Mlmon alone;
  if (!ParseMlmon(input.text, &alone, &error)) return Damaged(input.file, error);
  if (!sum->has_value()) {
    *sum = std::move(alone);
  } else if (!MergeMlmon(alone, &**sum, &error)) {
    return Bad(input.file + " does not add up with " + profile->files.front() + " (" + error +
               "): give profiles of one build and one kind");
  }
  profile->files.push_back(std::move(input.file));
  return absl::OkStatus();
}

// Reads only the beginning: scripts may be long, and programs longer.
bool IsScriptOfLive(const std::string& file) {
  char head[256] = {};
  std::ifstream(file, std::ios::binary).read(head, sizeof head);
  return IsStubOfLive(std::string_view(head, sizeof head));
}

// True if the profile counts live memory, according to the script beside it or one that was named.
bool IsOfLive(const std::string& file, const std::vector<std::string>& programs) {
  if (access((file + ".sources").c_str(), F_OK) == 0) return IsScriptOfLive(file + ".sources");
  return programs.size() == 1 && IsScriptOfLive(programs.front());
}

const char* Counted(bool live) { return live ? "what is live" : "all that was allocated"; }

absl::Status Mixed(const std::string& file, bool live, const std::string& other) {
  return Bad(file + " has " + Counted(live) + ", " + other + " " + Counted(!live) +
             ": give profiles of one kind, all or none with ALLOMON_PROFILE=live");
}

// Fails if some of the files count live memory and others do not.
absl::Status CheckLive(const Profile& profile, const std::vector<std::string>& programs) {
  for (const std::string& file : profile.files) {
    if (IsOfLive(file, programs) != profile.live) {
      return Mixed(profile.files.front(), profile.live, file);
    }
  }
  return absl::OkStatus();
}

// Returns the contents of the script `file`; "" if it cannot be read.
std::string ScriptIn(const std::string& file) {
  std::string script;
  mlprof::ReadFailure failure;
  return mlprof::ReadFile(file, &script, &failure) ? script : "";
}

// Adds the call sites of another process that ran the same code.
void AddCallSites(CallSites more, CallSites* sum) {
  const auto modules = static_cast<uint32_t>(sum->modules.size());
  for (CodeModule& module : more.modules) sum->modules.push_back(std::move(module));
  for (CallSite& site : more.sites) {
    for (CodeAddress& frame : site.frames) frame.module += modules;
    sum->sites.push_back(std::move(site));
  }
  sum->callers.resize(std::max(sum->callers.size(), more.callers.size()));
  for (size_t i = 0; i < more.callers.size(); ++i) {
    sum->callers[i] = std::max(sum->callers[i], more.callers[i]);
  }
  if (!more.wrappers.empty()) sum->wrappers = std::move(more.wrappers);
}

// Reads call sites from the scripts that explain this profile.  A program that explains itself has
// other functions.
void ReadCallSites(Profile* profile) {
  std::string magic;
  internal::AppendHexWord(profile->data.magic, &magic);
  const bool is_alone = profile->files.size() == 1;
  for (const std::string& file : profile->files) {
    std::string script = ScriptIn(file + ".sources");
    if (script.empty() && is_alone) script = ScriptIn(profile->program.file);
    if (AnswerOfStub(script).substr(0, magic.size()) != magic) continue;
    AddCallSites(ParseCallSites(script, profile->program.table.names.size()), &profile->call_sites);
  }
}

absl::StatusOr<Profile> Sum(std::vector<ProfileText> inputs,
                            const std::vector<std::string>& programs, Progress* progress) {
  Profile profile;
  std::optional<Mlmon> sum;
  for (size_t i = 0; i < inputs.size(); ++i) {
    progress->Show("adding " + std::to_string(i + 1) + " of " + std::to_string(inputs.size()));
    const absl::Status status = Add(std::move(inputs[i]), &profile, &sum);
    if (!status.ok()) return status;
  }
  profile.data = *std::move(sum);
  progress->Show("asking for the names of functions");
  auto program = FindProgram(profile.files.front(), profile.data.magic, programs);
  if (!program.ok()) return program.status();
  profile.program = *std::move(program);
  profile.program_found = programs.empty();
  profile.live = IsOfLive(profile.files.front(), programs);
  const absl::Status of_one_kind = CheckLive(profile, programs);
  if (!of_one_kind.ok()) return of_one_kind;
  std::string error;
  if (!mlprof::CheckLengths(profile.program, profile.data, &error)) {
    return Damaged(profile.files.front(), error);
  }
  ReadCallSites(&profile);
  return profile;
}

bool IsEmpty(const Mlmon& data) { return data.total == 0 && data.total_gc == 0; }

// An error that says why a profile may be empty.
absl::Status Empty(const Profile& profile) {
  const std::string& file = profile.files.front();
  switch (profile.data.kind) {
    case ProfileKind::kAlloc:
      return Bad(file + (profile.live ? ": 0 bytes live" : ": 0 bytes allocated") +
                 ": of few blocks a low rate may see none; profile it again with ALLOMON_RATE=1, "
                 "which sees every block, and ALLOMON_MMAP=1, which sees what the program maps "
                 "itself");
    case ProfileKind::kTime:
      return Bad(
          file +
          ": 0 seconds of CPU time: the run was shorter than a tick; profile it again with a "
          "higher ALLOMON_HZ, or for longer");
    case ProfileKind::kCount:
      return Bad(file +
                 ": 0 calls: profile a program that was compiled with "
                 "-fpatchable-function-entry=9 or has ALLOMON_FUNCTION()");
  }
  return absl::OkStatus();
}

absl::StatusOr<Profile> One(ProfileText input, const std::vector<std::string>& programs,
                            Progress* progress) {
  std::vector<ProfileText> inputs;
  inputs.push_back(std::move(input));
  return Sum(std::move(inputs), programs, progress);
}

}  // namespace

absl::StatusOr<Profile> LoadSum(const std::vector<std::string>& files, Progress* progress) {
  auto inputs = ReadInputs(files, progress);
  if (!inputs.ok()) return inputs.status();
  if (inputs->profiles.empty()) {
    const absl::Status status = AddInput(kDefaultProfile, &*inputs);
    if (!status.ok()) return status;
    if (inputs->profiles.empty()) return Bad(std::string(kDefaultProfile) + " is not a profile");
  }
  auto profile = Sum(std::move(inputs->profiles), inputs->programs, progress);
  if (profile.ok() && IsEmpty(profile->data)) return Empty(*profile);
  return profile;
}

absl::StatusOr<Pair> LoadPair(const std::vector<std::string>& files, Progress* progress) {
  auto inputs = ReadInputs(files, progress);
  if (!inputs.ok()) return inputs.status();
  if (inputs->profiles.size() != 2) {
    return Bad("--diff compares two profiles; " + std::to_string(inputs->profiles.size()) +
               " given: allomon report --diff BEFORE AFTER");
  }
  auto before = One(std::move(inputs->profiles[0]), inputs->programs, progress);
  if (!before.ok()) return before.status();
  auto after = One(std::move(inputs->profiles[1]), inputs->programs, progress);
  if (!after.ok()) return after.status();
  if (before->data.kind != after->data.kind) {
    return Bad(before->files[0] + " counts " + UnitName(before->data.kind) + ", " +
               after->files[0] + " " + UnitName(after->data.kind) +
               ": give two profiles of one kind");
  }
  if (before->live != after->live) {
    return Mixed(before->files[0], before->live, after->files[0]);
  }
  if (IsEmpty(before->data) && IsEmpty(after->data)) return Empty(*before);
  return Pair{*std::move(before), *std::move(after)};
}

}  // namespace allomon::report
