#include "tracker/profile/control/profile_file.h"

#include <vector>

#include "tracker/base/default_float.h"
#include "tracker/base/uncancelled.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/core/control.h"
#include "tracker/formats/count_units.h"
#include "tracker/formats/output_format.h"
#include "tracker/formats/version.h"  // so that liballomon.so contains its version
#include "tracker/formats/write_file.h"
#include "tracker/profile/control/snapshot.h"
#include "tracker/profile/sources/time_session.h"
#include "tracker/profile/write/attribution.h"

namespace allomon {
namespace {

// If the path is a device or a pipe, only the profile itself is written.
void WriteOutputFiles(const std::string& path, const OutputFiles& outputs, std::string* error) {
  const bool has_neighbours = IsReplacedByWriting(path);
  std::vector<FileToWrite> files;
  files.reserve(outputs.size());
  for (const OutputFile& output : outputs) {
    if (!output.suffix.empty() && !has_neighbours) continue;
    files.push_back({path + output.suffix, output.bytes, output.mode});
  }
  WriteFilesAtomically(files, error);
}

// Returns the total for the first lines of the file.
MlmonInt TotalOf(const ProfileSnapshot& snapshot) {
  MlmonInt amount = 0;
  for (const MlmonCount& count : snapshot.function_counts) amount += count.current;
  for (const MlmonCount& count : snapshot.managed_counts) amount += count.current;
  for (const ChargedStack& stack : snapshot.stacks) amount += stack.amount;
  const MlmonInt divisor = UnitsPerCount(snapshot.kind);
  return (amount + divisor / 2) / divisor;
}

}  // namespace

internal::UnitError WriteProfileFile(const std::string& path, internal::UnitName unit,
                                     std::string* error, std::string* summary,
                                     std::string_view format, WriteRule* rule, std::string* against,
                                     std::string* missing_names) {
  const internal::Uncancelled uncancelled;
  const internal::DefaultFloat our_float;
  // The allocations of the symbol reader are the profiler's, and must not appear in the profile.
  const internal::SuspendedSampling suspended;
  internal::ChargeOutstandingTime();
  ProfileSnapshot snapshot;
  const internal::UnitError unit_error = internal::TakeSnapshot(unit, &snapshot);
  if (unit_error != internal::UnitError::kNone) return unit_error;
  if (rule != nullptr) {
    *against = rule->ReasonAgainst(path, {snapshot.kind, snapshot.live, TotalOf(snapshot)});
    if (!against->empty()) return unit_error;
  }
  const OutputFormat output = FindOutputFormat(format);
  if (output == nullptr) {
    *error = "there is no output format '" + std::string(format) + "'";
    return unit_error;
  }
  const NamedProfile profile = Attribute(snapshot);
  if (profile.lacks_memory) {
    *error = "no memory is left to name the program's functions, so " + path +
             " is not written; raise `ulimit -v`";
    return unit_error;
  }
  WriteOutputFiles(path, output(profile), error);
  if (rule != nullptr && error->empty()) rule->NoteWritten(path);
  if (missing_names != nullptr) *missing_names = profile.missing_names;
  if (summary != nullptr) *summary = Summarize(snapshot, profile);
  return unit_error;
}

std::string PathOfProgram() { return internal::ProgramPath(); }

std::string ProfileSummary(internal::UnitName unit) {
  const internal::Uncancelled uncancelled;
  const internal::DefaultFloat our_float;
  const internal::SuspendedSampling suspended;
  ProfileSnapshot snapshot;
  if (internal::TakeSnapshot(unit, &snapshot) != internal::UnitError::kNone) return "";
  return Summarize(snapshot, Attribute(snapshot));
}

}  // namespace allomon
