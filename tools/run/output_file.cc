#include "tools/run/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tracker/formats/write_file.h"
#include "tracker/names/base_name.h"

namespace allomon::run {
namespace {

constexpr size_t kLongestName = 64;
constexpr int kMostNumbers = 1000;  // of files with one name in a folder
constexpr std::string_view kEnds[] = {".pb.gz", ".gz", ".pb"};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Returns the end of the file's name that names the format; "" if the name has no such end.
std::string_view EndOf(const std::string& path) {
  const std::string name = BaseName(path);
  for (const std::string_view end : kEnds) {
    if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) {
      return end;
    }
  }
  return "";
}

// Replaces characters that a file's name should not have; a program's name may have any.
std::string FileNamePart(const std::string& name) {
  std::string part = name.substr(0, kLongestName);
  for (char& c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 127 || c == '/') c = '_';
  }
  return part.empty() ? "program" : part;
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

absl::Status Unwritable(const std::string& what, int error, const char* remedy) {
  return absl::PermissionDeniedError("cannot write " + what + ": " + strerror(error) + "; " +
                                     remedy);
}

// Folders for a file that cannot be written at its own path.
std::vector<std::string> Refuges() {
  std::vector<std::string> folders;
  for (const char* name : {"TMPDIR", "HOME"}) {
    const char* const folder = getenv(name);
    if (folder != nullptr && *folder == '/') folders.push_back(folder);
  }
  folders.insert(folders.end(), {"/tmp", "/var/tmp", "/dev/shm"});
  return folders;
}

std::string Numbered(const std::string& path, int number) {
  if (number == 1) return path;
  const std::string_view end = EndOf(path);
  return path.substr(0, path.size() - end.size()) + "." + std::to_string(number) + std::string(end);
}

// Makes an empty file, by the path or with a number in its name: the user has not chosen the
// folder, so that a file in it stays.  Returns its path; "" if the folder takes no file.
std::string NewFile(const std::string& path) {
  for (int number = 1; number <= kMostNumbers; ++number) {
    std::string place = Numbered(path, number);
    const int fd = open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPrivateMode);
    if (fd >= 0) close(fd);
    if (fd >= 0) return place;
    if (errno != EEXIST) break;
  }
  return "";
}

}  // namespace

std::string DefaultOutput(const std::string& program, pid_t pid) {
  return "allomon." + FileNamePart(program) + "." + std::to_string(pid) + ".pb.gz";
}

std::string OutputBeside(const std::string& path, const std::string& name) {
  const std::string_view end = EndOf(path);
  return path.substr(0, path.size() - end.size()) + "." + FileNamePart(name) +
         (end.empty() ? ".pb.gz" : std::string(end));
}

absl::Status CheckOutput(const std::string& path) {
  if (IsFolder(path)) return Unwritable(path, EISDIR, "name a file in it");
  if (!IsReplacedByWriting(path)) {
    if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
    return Unwritable(path, errno, "choose another file with -o");
  }
  if (access(FolderOf(path).c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  const char* const remedy = errno == ENOENT ? "make the folder, or choose another file with -o"
                                             : "choose another file with -o";
  return Unwritable(path, errno, remedy);
}

bool HasRoomBeside(const std::string& path) { return IsReplacedByWriting(path); }

bool SaveFile(std::string_view contents, std::string* path, std::string* error) {
  error->clear();
  if (WriteFileAtomically(*path, contents, kPrivateMode, error)) return true;
  for (const std::string& folder : Refuges()) {
    const std::string place = NewFile(folder + "/" + BaseName(*path));
    if (place.empty()) continue;
    std::string other_error;
    if (WriteFileAtomically(place, contents, kPrivateMode, &other_error)) {
      *path = place;
      return true;
    }
    unlink(place.c_str());
  }
  return false;
}

}  // namespace allomon::run
