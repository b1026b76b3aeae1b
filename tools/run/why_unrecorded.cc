#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "tools/run/finish.h"

namespace allomon::run {
namespace {

constexpr size_t kMostBytes = 16384;  // an executable has its headers and notes at its beginning
constexpr int kMostInterpreters = 4;
constexpr unsigned char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

std::string Beginning(const std::string& path) {
  std::string bytes(kMostBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// Reads a record at an offset; all zero if the bytes end before.
template <typename Record>
Record At(std::string_view bytes, uint64_t offset) {
  Record record = {};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof record) {
    memcpy(&record, bytes.data() + offset, sizeof record);
  }
  return record;
}

// An ELF file of this machine's word size.  Reads the program headers within its first bytes.
class Executable {
 public:
  explicit Executable(std::string_view bytes) : bytes_(bytes), head_(At<ElfW(Ehdr)>(bytes, 0)) {}

  bool HasSegment(uint32_t type) const {
    for (unsigned i = 0; i < head_.e_phnum; ++i) {
      if (Segment(i).p_type == type) return true;
    }
    return false;
  }

  bool IsGo() const {
    for (unsigned i = 0; i < head_.e_phnum; ++i) {
      const ElfW(Phdr) segment = Segment(i);
      const uint64_t name = segment.p_offset + sizeof(ElfW(Nhdr));
      if (segment.p_type == PT_NOTE && name < bytes_.size() &&
          StartsWith(bytes_.substr(name), std::string_view("Go\0", 3))) {
        return true;
      }
    }
    return false;
  }

 private:
  ElfW(Phdr) Segment(unsigned index) const {
    return At<ElfW(Phdr)>(bytes_, head_.e_phoff + uint64_t{index} * sizeof(ElfW(Phdr)));
  }

  const std::string_view bytes_;
  const ElfW(Ehdr) head_;
};

std::string Interpreter(std::string_view script) {
  const size_t begin = script.find_first_not_of(" \t", 2);
  if (begin == std::string_view::npos) return "";
  return std::string(script.substr(begin, script.find_first_of(" \t\n", begin) - begin));
}

bool GainsRights(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) return true;
  return getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string WhyNotElf(std::string_view bytes) {
  if (bytes.size() > EI_CLASS && static_cast<unsigned char>(bytes[EI_CLASS]) != kOwnClass) {
    return "is of another word size than liballomon.so";
  }
  const Executable executable(bytes);
  if (executable.IsGo()) {
    return "is a Go program, whose heap is not malloc's; it has a profiler of its own, "
           "runtime/pprof, whose files allomon report reads";
  }
  if (!executable.HasSegment(PT_INTERP)) {
    return "is linked statically, so that nothing can be preloaded; link it dynamically, or with "
           "liballomon.a (docs/install.md)";
  }
  return "did not load the library, or the library has said why it records nothing";
}

}  // namespace

std::string PathOfCommand(const std::string& command) {
  const char* const path = getenv("PATH");
  if (command.find('/') != std::string::npos || path == nullptr) return command;
  std::string_view rest = path;
  for (;;) {
    const size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string file = folder.empty() ? command : std::string(folder) + "/" + command;
    struct stat status;
    if (access(file.c_str(), X_OK) == 0 && stat(file.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode)) {
      return file;
    }
    if (colon == std::string_view::npos) return command;
    rest.remove_prefix(colon + 1);
  }
}

std::string WhyUnrecorded(const std::string& path) {
  std::string file = path;
  for (int i = 0; i < kMostInterpreters; ++i) {
    if (GainsRights(file)) {
      return "gains rights when it starts (set-uid, set-gid or capabilities), so that nothing is "
             "preloaded; record it as the user that it becomes";
    }
    const std::string bytes = Beginning(file);
    if (StartsWith(bytes, ELFMAG)) return WhyNotElf(bytes);
    if (!StartsWith(bytes, "#!")) break;
    file = Interpreter(bytes);
  }
  return "did not load the library";
}

}  // namespace allomon::run
