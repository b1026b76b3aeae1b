#include "tools/recording/find_code.h"

#include <sys/stat.h>

#include <utility>

namespace allomon::recording {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

bool IsOlder(const std::string& path, uint64_t nanos) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return false;
  const auto& time = status.st_mtim;
  return static_cast<uint64_t>(time.tv_sec) * kNanosPerSecond +
             static_cast<uint64_t>(time.tv_nsec) <=
         nanos;
}

bool IsSame(const CodeFile& file, const CodeIdentity& code) {
  if (!code.build_id.empty()) return file.BuildId() == code.build_id;
  return IsOlder(code.path, code.start_nanos);
}

// Debuggers keep a file of the build id abcdef as .build-id/ab/cdef, and its names as cdef.debug.
std::unique_ptr<CodeFile> OpenByBuildId(const CodeIdentity& code, const std::string& debug_folder) {
  if (code.build_id.size() < 3) return nullptr;
  const std::string name =
      "/.build-id/" + code.build_id.substr(0, 2) + "/" + code.build_id.substr(2);
  for (const std::string& folder : {debug_folder, std::string("/usr/lib/debug")}) {
    if (folder.empty()) continue;
    for (const char* const suffix : {"", ".debug"}) {
      auto file = CodeFile::Open(folder + name + suffix, debug_folder);
      if (file != nullptr && file->BuildId() == code.build_id) return file;
    }
  }
  return nullptr;
}

}  // namespace

FoundCode FindCode(const CodeIdentity& code, const std::string& debug_folder) {
  auto file = CodeFile::Open(code.path, debug_folder);
  if (file != nullptr && IsSame(*file, code)) return {std::move(file), ""};
  const bool is_there = file != nullptr;
  if (auto other = OpenByBuildId(code, debug_folder)) return {std::move(other), ""};
  const std::string by_address = "; its functions are named by their addresses";
  const std::string how = code.build_id.empty() ? "" : " (other build id)";
  // The kernel's own code, for one, is in no file.
  if (code.path.find('/') == std::string::npos) return {nullptr, ""};
  if (is_there) return {nullptr, code.path + " has changed since" + how + by_address};
  return {nullptr, code.path + " is not there any more" + by_address};
}

}  // namespace allomon::recording
