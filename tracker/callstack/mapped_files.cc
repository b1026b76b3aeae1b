#include "tracker/callstack/mapped_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tracker/base/check.h"
#include "tracker/base/clock.h"
#include "tracker/base/page_size.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/callstack/file_names.h"
#include "tracker/callstack/maps_line.h"

namespace allomon::internal {
namespace {

uint64_t g_begun_nanos = 0;  // 0: not noted

// Reads the lines of this process's maps.  It does not use /proc/self, which is the first thread's:
// it cannot be read once that thread has ended by pthread_exit().
class MapsReader {
 public:
  MapsReader() : fd_(sys::Open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (fd_ >= 0) sys::Close(fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  // Reads the next line; returns false at the end.  The line's path is valid until the next call.
  bool Next(MapsLine* line) {
    std::string_view text;
    while (NextText(&text)) {
      if (ParseMapsLine(text, line)) return true;
    }
    return false;
  }

  // Whether the line was longer than the buffer, so its path is not whole.
  bool is_cut() const { return is_cut_; }

 private:
  bool NextText(std::string_view* text) {
    for (;;) {
      ALLOMON_DCHECK("inv.code.noted", at_ <= filled_ && filled_ <= sizeof(buffer_));
      const char* const begin = buffer_ + at_;
      const auto* const end = static_cast<const char*>(memchr(begin, '\n', filled_ - at_));
      if (end == nullptr && filled_ - at_ < sizeof(buffer_)) {
        if (!Fill()) return false;
        continue;
      }
      *text = {begin, static_cast<size_t>((end == nullptr ? buffer_ + filled_ : end) - begin)};
      at_ += text->size() + (end == nullptr ? 0 : 1);
      // Skips the rest of a line that was cut.
      const bool is_rest = is_cut_;
      is_cut_ = end == nullptr;
      if (!is_rest) return true;
    }
  }

  bool Fill() {
    memmove(buffer_, buffer_ + at_, filled_ - at_);
    filled_ -= at_;
    at_ = 0;
    if (fd_ < 0) return false;
    const ssize_t bytes = sys::Read(fd_, buffer_ + filled_, sizeof(buffer_) - filled_);
    if (bytes > 0) filled_ += static_cast<size_t>(bytes);
    return bytes > 0;
  }

  const int fd_;
  size_t at_ = 0;
  size_t filled_ = 0;
  bool is_cut_ = false;
  char buffer_[1024];
};

bool Contains(const MapsLine& line, uintptr_t address) {
  return line.begin <= address && address < line.end;
}

bool FindTwo(uintptr_t a, uintptr_t b, MapsLine* of_a, MapsLine* of_b) {
  bool has_a = false;
  bool has_b = false;
  MapsReader maps;
  for (MapsLine line; !(has_a && has_b) && maps.Next(&line);) {
    line.path = {};
    if (Contains(line, a)) *of_a = line, has_a = true;
    if (Contains(line, b)) *of_b = line, has_b = true;
  }
  return has_a && has_b;
}

// Maps one page of the file, to compare its mapping with that of the code.
bool IsMappedFromFileAt(const char* path, uintptr_t address) {
  const int fd = sys::Open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  void* const page = sys::Mmap(nullptr, PageBytes(), PROT_READ, MAP_PRIVATE, fd, 0);
  sys::Close(fd);
  if (!sys::IsAddress(page)) return false;
  const bool is_same = IsSameMappedFile(address, reinterpret_cast<uintptr_t>(page));
  sys::Munmap(page, PageBytes());
  return is_same;
}

bool StatFile(const char* path, FileIdentity* identity) {
  struct stat status = {};
  if (sys::FstatAt(AT_FDCWD, path, &status, 0) != 0 || !S_ISREG(status.st_mode)) return false;
  *identity = IdentityOf(status);
  return true;
}

// Returns the state of a mapped file if the file at its path has this identity.
FileState StateBy(const MapsLine& line, const FileIdentity& identity) {
  if (line.inode == 0) return FileState::kUnknown;
  const bool is_same = identity.device == line.device && identity.inode == line.inode;
  return is_same ? FileState::kAtPath : FileState::kElsewhere;
}

}  // namespace

void NoteProcessBegin() { g_begun_nanos = ClockNanos(CLOCK_REALTIME); }

void FindMappedFiles(MappedFileQuery* queries, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    queries[i].found = {};
    StatFile(queries[i].path, &queries[i].found.identity);
  }
  bool has_maps = false;
  size_t unanswered = count;
  MapsReader maps;
  for (MapsLine line; unanswered != 0 && maps.Next(&line);) {
    has_maps = true;
    for (size_t i = 0; i < count; ++i) {
      MappedFileQuery& query = queries[i];
      if (!Contains(line, query.address)) continue;
      query.found.state = StateBy(line, query.found.identity);
      --unanswered;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    MappedFile& found = queries[i].found;
    const bool is_there = found.identity.is_known();
    if (!has_maps && is_there && found.identity.change_nanos <= g_begun_nanos) {
      found.state = FileState::kAtPath;
    }
    if (found.state == FileState::kElsewhere && is_there &&
        IsMappedFromFileAt(queries[i].path, queries[i].address)) {
      found.state = FileState::kAtPath;
    }
    if (found.state != FileState::kAtPath) found.identity = {};
  }
}

bool PathOfMapping(uintptr_t address, char* path, size_t room_bytes) {
  MapsReader maps;
  for (MapsLine line; maps.Next(&line);) {
    if (!Contains(line, address)) continue;
    if (line.inode == 0 || line.path.empty() || line.path[0] != '/' || maps.is_cut()) return false;
    std::string_view name = line.path.substr(0, room_bytes - 1);
    memcpy(path, name.data(), name.size());
    path[name.size()] = '\0';
    path[LengthOfName(path)] = '\0';
    return true;
  }
  return false;
}

bool IsSameMappedFile(uintptr_t address, uintptr_t other) {
  MapsLine a, b;
  return FindTwo(address, other, &a, &b) && a.inode != 0 && a.inode == b.inode &&
         a.device == b.device;
}

}  // namespace allomon::internal
