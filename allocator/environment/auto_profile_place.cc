#include "allocator/environment/auto_profile_place.h"

#include <fcntl.h>

#include <climits>

#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

// Each folder costs a system call at the start.
constexpr size_t kMostFolders = 32;

bool Look(const char* path, struct stat* found) {
  if (sys::FstatAt(AT_FDCWD, path, found, 0) == 0) return true;
  found->st_ino = 0;
  return false;
}

// The kernel writes "(unreachable)" before the path of a folder outside of the root directory.
std::string CurrentFolder() {
  char text[PATH_MAX];
  return sys::Getcwd(text, sizeof(text)) > 0 && text[0] == '/' ? text : "";
}

}  // namespace

std::string StartPlace::FromRoot(const std::string& path) const {
  if (path[0] == '/' || folder_.empty()) return path;
  return folder_ == "/" ? "/" + path : folder_ + "/" + path;
}

// Only folders before the first '%' are noted: a folder whose name has a process id does not exist
// yet.
void StartPlace::Note(const std::string& out) {
  folder_ = CurrentFolder();
  Look(".", &start_);
  const std::string path = FromRoot(out);
  const size_t pattern = out.find('%');
  const size_t named = pattern == out.npos ? path.size() : path.size() - out.size() + pattern;
  for (size_t slash = path.find('/'); slash < named && folders_.size() < kMostFolders;
       slash = path.find('/', slash + 1)) {
    ALLOMON_DCHECK("inv.environment.place",
                   folders_.empty() || folders_.back().path_length < slash);
    struct stat found = {};
    if (!Look(slash == 0 ? "/" : path.substr(0, slash).c_str(), &found)) return;
    folders_.push_back({slash, found.st_dev, found.st_ino});
  }
}

std::string StartPlace::NameNow(const std::string& path) const {
  struct stat now = {};
  if (path[0] != '/' && start_.st_ino != 0 && Look(".", &now) && now.st_ino == start_.st_ino &&
      now.st_dev == start_.st_dev) {
    return path;
  }
  const std::string from_root = FromRoot(path);
  if (from_root[0] != '/' || !Look("/", &now)) return from_root;
  for (const Folder& folder : folders_) {
    if (folder.inode == now.st_ino && folder.device == now.st_dev) {
      ALLOMON_DCHECK_LT("inv.environment.place", folder.path_length, from_root.size());
      ALLOMON_DCHECK_EQ("inv.environment.place", from_root[folder.path_length], '/');
      return from_root.substr(folder.path_length);
    }
  }
  return from_root;
}

}  // namespace allomon::internal
