// Identifies a file with code, so that it can be recognised later; used if there is no build id.
//
// Plain data; no allocation, nothing thrown.
#ifndef ALLOMON_TRACKER_FORMATS_FILE_IDENTITY_H_
#define ALLOMON_TRACKER_FORMATS_FILE_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>

namespace allomon {

// All 0: not known.  The time is that of the inode's change, which programs that replace files do
// not set, unlike the time of modification.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  uint64_t change_nanos = 0;  // since 1970

  bool is_known() const { return inode != 0; }
  bool operator==(const FileIdentity& other) const {
    return device == other.device && inode == other.inode && size_bytes == other.size_bytes &&
           change_nanos == other.change_nanos;
  }
};

// The result of comparing the file that is mapped with the one at its path.  Recordings store the
// numbers.
enum class FileState : uint8_t {
  kUnknown = 0,  // the mapped file cannot be determined; also of writers that do not identify files
  kAtPath = 1,   // the one at its path: its FileIdentity is known
  kElsewhere = 2  // not the one at its path: replaced, removed, or of another mount namespace
};

inline FileIdentity IdentityOf(const struct stat& status) {
  constexpr uint64_t kNanosPerSecond = 1'000'000'000;
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          static_cast<uint64_t>(status.st_ctim.tv_sec) * kNanosPerSecond +
              static_cast<uint64_t>(status.st_ctim.tv_nsec)};
}

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_FILE_IDENTITY_H_
