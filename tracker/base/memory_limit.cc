#include "tracker/base/memory_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

// Version 1 reports 2^63 less a page if there is no limit.
constexpr uint64_t kNoLimit = uint64_t{1} << 62;

constexpr std::string_view kMountV1 = "/sys/fs/cgroup/memory";
constexpr std::string_view kMountV2 = "/sys/fs/cgroup";
constexpr std::string_view kMountBoth = "/sys/fs/cgroup/unified";

struct Names {
  const char* limit;
  const char* used;
  const char* inactive;  // a line of memory.stat
};
constexpr Names kNamesV1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                            "\ntotal_inactive_file "};
constexpr Names kNamesV2 = {"/memory.max", "/memory.current", "\ninactive_file "};

constexpr const char* kHighV2 = "/memory.high";

bool ParseNumber(const char* text, uint64_t* number) {
  if (*text < '0' || *text > '9') return false;
  *number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (*number > UINT64_MAX / 16) return false;
    *number = *number * 10 + static_cast<uint64_t>(*text - '0');
  }
  return true;
}

bool HasItem(std::string_view list, std::string_view item) {
  while (true) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == item) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// Whether a path of /proc/self/cgroup leads out of the process's namespace, where it has no
// meaning.
bool LeadsOut(std::string_view path) { return path.find("/..") != std::string_view::npos; }

// Splits "number:controllers:path".
bool SplitLine(std::string_view line, std::string_view* controllers, std::string_view* path) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return false;
  *controllers = line.substr(first + 1, second - first - 1);
  *path = line.substr(second + 1);
  return true;
}

bool IsNearer(const MemoryUsage& a, const MemoryUsage& b) {
  if (a.limit_bytes == 0 || b.limit_bytes == 0) return a.limit_bytes != 0;
  return static_cast<double>(a.used_bytes) * static_cast<double>(b.limit_bytes) >
         static_cast<double>(b.used_bytes) * static_cast<double>(a.limit_bytes);
}

uint64_t PercentOf(uint64_t bytes, uint32_t percent) { return bytes / 100 * percent; }

}  // namespace

bool MemoryLimit::ReadText(std::string_view directory, std::string_view name) {
  if (!path_.Clear().Add(root_).Add(directory).Add(name).fits()) return false;
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
  const int fd = sys::Open(path_.text(), kFlags);
  if (fd < 0) return false;
  const ssize_t length = sys::Read(fd, text_, sizeof(text_) - 1);
  sys::Close(fd);
  ALLOMON_DCHECK("inv.cgroup.text", length < static_cast<ssize_t>(sizeof(text_)));
  text_[length > 0 ? length : 0] = '\0';
  return length > 0;
}

bool MemoryLimit::ReadFile(size_t level_length, const char* name) {
  return ReadText({directory_.text(), level_length}, name);
}

bool MemoryLimit::ReadNumber(size_t level_length, const char* name, uint64_t* number) {
  return ReadFile(level_length, name) && ParseNumber(text_, number);
}

bool MemoryLimit::ReadBound(size_t level_length, uint64_t* limit) {
  *limit = kNoLimit;
  const auto read = [&](const char* name) {
    uint64_t bytes = 0;
    if (ReadNumber(level_length, name, &bytes)) *limit = std::min(*limit, bytes);
  };
  read((is_v1_ ? kNamesV1 : kNamesV2).limit);
  if (bound_ == Bound::kSlows && !is_v1_) read(kHighV2);
  return *limit < kNoLimit;
}

void MemoryLimit::FindLevels(std::string_view mount, std::string_view path) {
  if (LeadsOut(path)) path = {};
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  level_count_ = 0;
  if (!directory_.Clear().Add(mount).Add(path).fits()) return;
  size_t length = directory_.length();
  while (length >= mount.size() && level_count_ < kMostLevels) {
    uint64_t limit = 0;
    if (ReadBound(length, &limit)) levels_[level_count_++] = length;
    if (length == mount.size()) return;
    ALLOMON_DCHECK_LT("inv.cgroup.level", mount.size(), length);
    ALLOMON_DCHECK_LE("inv.cgroup.level", level_count_, kMostLevels);
    do {
      --length;
    } while (length > mount.size() && directory_.text()[length] != '/');
  }
}

void MemoryLimit::Find() {
  FixedText<PATH_MAX>& v1 = v1_path_.Clear();
  FixedText<PATH_MAX>& v2 = v2_path_.Clear();
  level_count_ = 0;
  if (!ReadText("", "/proc/self/cgroup")) return;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view controllers, path;
    if (SplitLine(rest.substr(0, end), &controllers, &path)) {
      if (controllers.empty()) v2.Clear().Add(path);
      if (HasItem(controllers, "memory")) v1.Clear().Add(path);
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  is_v1_ = v1.length() > 0;
  if (is_v1_) return FindLevels(kMountV1, {v1.text(), v1.length()});
  FindLevels(kMountV2, {v2.text(), v2.length()});
  if (level_count_ == 0) FindLevels(kMountBoth, {v2.text(), v2.length()});
}

uint64_t MemoryLimit::ReadInactive(size_t level_length) {
  if (!ReadFile(level_length, "/memory.stat")) return 0;
  const char* const key = (is_v1_ ? kNamesV1 : kNamesV2).inactive;
  const char* const line = strstr(text_, key);
  uint64_t bytes = 0;
  return line != nullptr && ParseNumber(line + strlen(key), &bytes) ? bytes : 0;
}

MemoryUsage MemoryLimit::ReadLevel(size_t length, uint32_t percent) {
  ALLOMON_DCHECK_LE("inv.cgroup.level", length, directory_.length());
  const Names& names = is_v1_ ? kNamesV1 : kNamesV2;
  MemoryUsage usage;
  if (!ReadBound(length, &usage.limit_bytes) ||
      !ReadNumber(length, names.used, &usage.used_bytes)) {
    return {};
  }
  ALLOMON_DCHECK_LT("inv.cgroup.limit", usage.limit_bytes, kNoLimit);
  if (usage.used_bytes < PercentOf(usage.limit_bytes, percent)) return usage;
  const uint64_t inactive = ReadInactive(length);
  usage.used_bytes -= inactive < usage.used_bytes ? inactive : usage.used_bytes;
  return usage;
}

MemoryUsage MemoryLimit::ReadAddresses() {
  rlimit limit = {};
  uint64_t pages = 0;
  if (sys::Prlimit(RLIMIT_AS, nullptr, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  // That of the process shows no memory once its first thread has ended.
  if (!ReadText("", "/proc/thread-self/statm") || !ParseNumber(text_, &pages)) return {};
  return {pages * static_cast<uint64_t>(getpagesize()), limit.rlim_cur, true};
}

MemoryUsage MemoryLimit::Read(uint32_t percent, uint64_t nanos) {
  if (!is_found_ || nanos - found_nanos_ >= kFindNanos) {
    Find();
    is_found_ = true;
    found_nanos_ = nanos;
  }
  MemoryUsage nearest = bound_ == Bound::kKills ? ReadAddresses() : MemoryUsage();
  for (size_t i = 0; i < level_count_; ++i) {
    const MemoryUsage usage = ReadLevel(levels_[i], percent);
    if (IsNearer(usage, nearest)) nearest = usage;
  }
  return nearest;
}

}  // namespace allomon::internal
