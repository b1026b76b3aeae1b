#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "tools/load/recording/recording_profile.h"
#include "tools/serve/source.h"
#include "tracker/formats/recording_bytes.h"

namespace allomon::serve {
namespace {

bool IsRecording(const std::string& path) {
  constexpr size_t kMagicBytes = 8;
  recording::FileBytes file;
  std::string error;
  if (!file.Open(path, &error)) return false;
  std::string first(kMagicBytes, '\0');
  return file.Read(0, first.data(), first.size()) && recording::LooksLikeRecording(first);
}

absl::Status CannotRead(const std::string& path) {
  return absl::NotFoundError("cannot read the folder " + path + ": " + strerror(errno));
}

}  // namespace

bool FolderSource::IsServed(const std::string& path) const {
  if (owners_ == Owners::kAll) return true;
  struct stat status;
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid();
}

absl::StatusOr<std::vector<RecordingFile>> FolderSource::Files() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path_.c_str()), closedir);
  if (folder == nullptr) return CannotRead(path_);
  std::vector<RecordingFile> files;
  for (size_t i = 0; i < kMostEntries && files.size() < kMostFiles; ++i) {
    const dirent* const entry = readdir(folder.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] == '.') continue;
    const std::string path = path_ + "/" + entry->d_name;
    if (IsServed(path) && IsRecording(path)) files.push_back({path, entry->d_name});
  }
  std::sort(files.begin(), files.end(),
            [](const RecordingFile& a, const RecordingFile& b) { return a.name < b.name; });
  return files;
}

}  // namespace allomon::serve
