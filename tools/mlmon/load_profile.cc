#include "tools/mlmon/load_profile.h"

#include <utility>

#include "tools/mlmon/read_file.h"
#include "tracker/formats/scan.h"

namespace allomon::mlprof {
namespace {

// Adds a profile to the sum.  The first one must have the executable's magic; its other fields are
// taken as they are.
bool Merge(uint32_t magic, Mlmon profile, std::optional<Mlmon>* sum, std::string* error) {
  if (sum->has_value()) return MergeMlmon(profile, &**sum, error);
  if (profile.magic != magic) {
    *error = "wrong magic number";
    return false;
  }
  *sum = std::move(profile);
  return true;
}

bool AddFile(const Program& program, const std::string& file, std::optional<Mlmon>* sum,
             std::string* error) {
  std::string text;
  if (!ReadFile(file, &text, error)) return false;
  Mlmon profile;
  if (ParseMlmon(text, &profile, error) &&
      Merge(program.table.magic, std::move(profile), sum, error)) {
    return true;
  }
  error->insert(0, "Fail: ");
  return false;
}

}  // namespace

bool CheckLengths(const Program& program, const Mlmon& sum, std::string* error) {
  const SourceTable& table = program.table;
  if (sum.splits.size() == table.sources.size() && sum.masters.size() == table.names.size()) {
    return true;
  }
  *error = "the profile has counts for " + std::to_string(sum.splits.size()) + " sources and " +
           std::to_string(sum.masters.size()) + " names, but '" + program.file + "' has " +
           std::to_string(table.sources.size()) + " and " + std::to_string(table.names.size()) +
           "; profile this build of it again";
  return false;
}

bool LoadProfile(const Program& program, const std::vector<std::string>& files, bool tolerant,
                 std::optional<Mlmon>* data, std::string* warnings, std::string* error) {
  data->reset();
  for (const std::string& file : files) {
    std::string why;
    if (AddFile(program, file, data, &why)) continue;
    const std::string message = "Error loading mlmon file '" + file + "': " + why;
    if (!tolerant) {
      *error = message;
      return false;
    }
    *warnings += message + "\n";
  }
  return !data->has_value() || CheckLengths(program, **data, error);
}

bool LoadFileLists(const std::vector<std::string>& lists, std::vector<std::string>* files,
                   std::string* error) {
  files->clear();
  for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
    std::string text;
    if (!ReadFile(*list, &text, error)) return false;
    for (std::string_view file : internal::SpaceTokens(text)) {
      files->emplace_back(file);
    }
  }
  return true;
}

}  // namespace allomon::mlprof
