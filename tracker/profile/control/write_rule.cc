#include "tracker/profile/control/write_rule.h"

#include <optional>

#include "tracker/formats/mlmon_head.h"

namespace allomon {
namespace {

// Returns the clock of file times, which advances only at the kernel's ticks: a file that was
// written before has no later time.
timespec FileClock() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

// Files are replaced as a whole, so a later one has another inode, or at least another time.
bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

WriteRule::WriteRule() : start_(FileClock()) {}

bool WriteRule::IsOwn(const struct stat& file) const {
  return own_.st_ino != 0 && own_.st_ino == file.st_ino && own_.st_dev == file.st_dev;
}

void WriteRule::NoteAtStart(const std::string& path) {
  first_path_ = path;
  if (lstat(path.c_str(), &first_file_) != 0) first_file_.st_ino = 0;
}

bool WriteRule::IsNew(const std::string& path, const struct stat& file) const {
  if (path == first_path_) return !IsSame(file, first_file_);
  if (file.st_mtim.tv_sec != start_.tv_sec) return file.st_mtim.tv_sec > start_.tv_sec;
  return file.st_mtim.tv_nsec > start_.tv_nsec;
}

std::string WriteRule::ReasonAgainst(const std::string& path, const NewProfile& profile) {
  last_total_ = profile.total;
  if (profile.total < least_total_) return "nothing was sampled";
  const std::optional<MlmonHead> there = ReadMlmonHead(path);
  if (!there || there->total == 0 || IsOwn(there->file)) return "";
  const bool is_new = IsNew(path, there->file);
  if (profile.total == 0 && (is_new || !profile.live)) {
    return "nothing was sampled; " + path + ", which has samples, is left as it is";
  }
  if (is_new && there->kind == profile.kind && there->total > profile.total) {
    return path + " is left as it is: another program has written more there meanwhile; use %p";
  }
  return "";
}

void WriteRule::NoteWritten(const std::string& path) {
  if (lstat(path.c_str(), &own_) != 0) own_.st_ino = 0;
}

}  // namespace allomon
