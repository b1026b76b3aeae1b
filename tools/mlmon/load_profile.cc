#include "tools/mlmon/load_profile.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "tracker/formats/scan.h"

namespace allomon::mlprof {
namespace {

// Returns Standard ML's name of an error: ENOENT is noent.
std::string SmlErrorName(int error) {
  const char* name = strerrorname_np(error);
  std::string sml_name = name == nullptr ? "?" : name + 1;
  for (char& c : sml_name) c = static_cast<char>(tolower(c));
  return sml_name;
}

std::string IoError(const std::string& path, const ReadFailure& failure) {
  return std::string("Io: ") + failure.operation + " \"" + path +
         "\" failed with SysErr: " + strerror(failure.error) + " [" + SmlErrorName(failure.error) +
         "]";
}

struct FileCloser {
  void operator()(FILE* file) const { fclose(file); }
};

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

bool ReadFile(const std::string& path, std::string* contents, std::string* error) {
  ReadFailure failure;
  if (ReadFile(path, contents, &failure)) return true;
  *error = IoError(path, failure);
  return false;
}

bool ReadFile(const std::string& path, std::string* contents, ReadFailure* failure) {
  std::unique_ptr<FILE, FileCloser> file(fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    *failure = {"openIn", errno};
    return false;
  }
  contents->clear();
  char buffer[1 << 16];
  while (size_t got = fread(buffer, 1, sizeof buffer, file.get())) {
    contents->append(buffer, got);
  }
  if (ferror(file.get()) == 0) return true;
  *failure = {"inputLine", errno};
  return false;
}

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
