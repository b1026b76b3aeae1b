// Compares the memory of this process with its limits: those of its cgroup (version 1 or 2) and of
// the cgroups above, and the limit of its address space (RLIMIT_AS).
//
// One thread at a time.  Makes system calls (open, read, close, getrlimit), none of which is a
// cancellation point here; allocates nothing.  A limit that cannot be read counts as no limit.
#ifndef ALLOMON_TRACKER_BASE_MEMORY_LIMIT_H_
#define ALLOMON_TRACKER_BASE_MEMORY_LIMIT_H_

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tracker/base/fixed_text.h"

namespace allomon::internal {

struct MemoryUsage {
  uint64_t used_bytes = 0;
  uint64_t limit_bytes = 0;   // 0: there is no limit
  bool is_addresses = false;  // RLIMIT_AS, else a cgroup's
};

class MemoryLimit {
 public:
  // Limits of cgroups are searched for again after this time.
  static constexpr uint64_t kFindNanos = 10'000'000'000;

  // kKills: the kernel ends a process that exceeds the limit (memory.max).  kSlows: also
  // memory.high, from which on it takes memory back and holds processes up; version 2.  kSlows is
  // about memory alone, and leaves RLIMIT_AS out.
  enum class Bound : uint8_t { kKills, kSlows };

  constexpr MemoryLimit() = default;
  // `root` replaces the root directory, for tests.
  constexpr explicit MemoryLimit(Bound bound, const char* root = "") : bound_(bound), root_(root) {}

  // Returns the nearest limit.  From `percent` of a cgroup's limit on, file pages that the kernel
  // would drop first (inactive_file) are not counted.  `nanos` is the current time of a clock that
  // is never set.
  MemoryUsage Read(uint32_t percent, uint64_t nanos);

 private:
  static constexpr size_t kMostLevels = 8;  // cgroups with a limit

  void Find();
  void FindLevels(std::string_view mount, std::string_view path);
  MemoryUsage ReadLevel(size_t length, uint32_t percent);
  MemoryUsage ReadAddresses();
  bool ReadText(std::string_view directory, std::string_view name);
  bool ReadFile(size_t level_length, const char* name);
  bool ReadNumber(size_t level_length, const char* name, uint64_t* number);
  uint64_t ReadInactive(size_t level_length);

  // The limit of a level; false if it has none.
  bool ReadBound(size_t level_length, uint64_t* limit);

  Bound bound_ = Bound::kKills;
  const char* root_ = "";
  bool is_found_ = false;
  bool is_v1_ = false;
  uint64_t found_nanos_ = 0;
  FixedText<PATH_MAX> directory_;    // of the process's cgroup
  size_t levels_[kMostLevels] = {};  // lengths of its prefixes that are cgroups with a limit
  size_t level_count_ = 0;
  FixedText<PATH_MAX> v1_path_;  // as in /proc/self/cgroup
  FixedText<PATH_MAX> v2_path_;
  FixedText<PATH_MAX> path_;
  char text_[8192] = {};  // of the file that was read last
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_MEMORY_LIMIT_H_
