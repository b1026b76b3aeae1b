#include "tracker/profile/control/write_rule.h"

#include <optional>

#include "tracker/formats/mlmon_head.h"

namespace allomon {
namespace {

// The clock of a file system's times, which stands still between two ticks of the kernel: a file
// that was written before has no later time.
timespec FileClock() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

}  // namespace

WriteRule::WriteRule() : start_(FileClock()) {}

bool WriteRule::IsOwn(const struct stat& file) const {
  return own_.st_ino != 0 && own_.st_ino == file.st_ino && own_.st_dev == file.st_dev;
}

bool WriteRule::IsNew(const struct stat& file) const {
  if (file.st_mtim.tv_sec != start_.tv_sec) return file.st_mtim.tv_sec > start_.tv_sec;
  return file.st_mtim.tv_nsec > start_.tv_nsec;
}

std::string WriteRule::ReasonAgainst(const std::string& path, const NewProfile& profile) {
  last_total_ = profile.total;
  if (profile.total < least_total_) return "nothing was sampled";
  const std::optional<MlmonHead> there = ReadMlmonHead(path);
  if (!there || there->total == 0 || IsOwn(there->file)) return "";
  const bool is_new = IsNew(there->file);
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
