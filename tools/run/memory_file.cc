#include "tools/run/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tools/load/recording/recording_profile.h"
#include "tracker/formats/recording_layout.h"
#include "tracker/formats/recording_segments.h"

namespace allomon::run {
namespace {

using recording::FileHeader;

constexpr unsigned kNoExecution = 8;  // MFD_NOEXEC_SEAL, since Linux 6.3
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status Failure(const char* what) {
  return absl::UnavailableError(std::string("cannot make memory for the recording: ") + what +
                                ": " + strerror(errno));
}

// Creates the file closed on exec, because the program must not inherit a descriptor that it has
// not opened.  Some systems refuse memory files without kNoExecution, and older ones do not know
// that flag: hence the second try.
int CreateDescriptor() {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = memfd_create(recording::kMemoryFileName, flags | kNoExecution);
  return fd >= 0 ? fd : memfd_create(recording::kMemoryFileName, flags);
}

FileHeader HeaderOf(uint64_t limit_bytes) {
  FileHeader header = {};
  memcpy(header.magic, recording::kMagic, sizeof header.magic);
  header.version = recording::kLayoutVersion;
  header.segment_bytes = recording::kSegmentBytes;
  header.limit_bytes = limit_bytes;
  header.segments_used = 1;
  return header;
}

absl::Status Fill(int fd, uint64_t limit_bytes) {
  if (ftruncate(fd, static_cast<off_t>(limit_bytes)) != 0) {
    if (errno != EFBIG) return Failure("ftruncate");
    return absl::UnavailableError(
        "the limit of file sizes (ulimit -f) is below --limit; raise it or lower --limit");
  }
  const FileHeader header = HeaderOf(limit_bytes);
  if (pwrite(fd, &header, sizeof header, 0) != sizeof header) return Failure("pwrite");
  if (fcntl(fd, F_ADD_SEALS, kSeals) != 0) return Failure("F_ADD_SEALS");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryFile>> MemoryFile::Create(uint64_t limit_bytes) {
  const int fd = CreateDescriptor();
  if (fd < 0) return Failure("memfd_create");
  std::unique_ptr<MemoryFile> file(new MemoryFile(fd));
  absl::Status status = Fill(fd, limit_bytes);
  if (!status.ok()) return status;
  return file;
}

MemoryFile::~MemoryFile() { close(fd_); }

std::string MemoryFile::Path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

std::string MemoryFile::Id() const {
  struct stat status = {};
  fstat(fd_, &status);
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

uint64_t MemoryFile::SegmentsLost() const {
  FileHeader header = {};
  std::string error;
  return recording::ReadFileHeader(Bytes(), &header, &error) ? header.segments_lost : 0;
}

std::string MemoryFile::Copy() const {
  const recording::DescriptorBytes bytes = Bytes();
  FileHeader header = {};
  std::string error;
  if (!recording::ReadFileHeader(bytes, &header, &error)) return "";
  std::string copy(recording::SegmentsToRead(bytes, header) * recording::kSegmentBytes, '\0');
  if (!bytes.Read(0, copy.data(), copy.size())) copy.clear();
  return copy;
}

recording::ExitDesk* MemoryFile::MapDesk() const {
  void* const page = mmap(nullptr, recording::kExitDeskOffset, PROT_READ | PROT_WRITE, MAP_SHARED,
                          fd_, static_cast<off_t>(recording::kExitDeskOffset));
  return page == MAP_FAILED ? nullptr : static_cast<recording::ExitDesk*>(page);
}

// Lines of maps end with the inode's number and "/memfd:allomon-recording (deleted)".
bool MemoryFile::IsMappedBy(pid_t process) const {
  struct stat status;
  if (fstat(fd_, &status) != 0) return false;
  const std::string mark = " " + std::to_string(status.st_ino) + " ";
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t name = line.find(std::string("/memfd:") + recording::kMemoryFileName);
    if (name != std::string::npos && line.rfind(mark, name) != std::string::npos) return true;
  }
  return false;
}

}  // namespace allomon::run
