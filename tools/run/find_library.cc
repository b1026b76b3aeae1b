#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tools/run/child.h"

namespace allomon::run {
namespace {

// Folders of the library, from the folder of the command.
constexpr const char* kPlaces[] = {
    "../lib/",
    "../lib/x86_64-linux-gnu/",  // the folder that CMake chooses for the prefix /usr on Debian
    "../lib64/",
    "../lib/allomon/",
    "",
    "../../allocator/",  // for bazel-bin/tools/allomon
};

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
}

// Returns the real path of a readable regular file; else "".
std::string Library(const std::string& path) {
  std::string real = RealPath(path);
  struct stat status;
  if (real.empty() || stat(real.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  return access(real.c_str(), R_OK) == 0 ? real : "";
}

// Returns a path that the loader takes as a whole.  The loader ends a path at a space or colon, and
// expands `$`.  Such a path is replaced by that of a descriptor, which stays open until this
// process ends.
absl::StatusOr<std::string> Preloadable(const std::string& path) {
  if (path.find_first_of(" :$") == std::string::npos) return path;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
  return absl::UnavailableError("cannot open " + path +
                                "; set ALLOMON_LIBRARY to the path of liballomon.so");
}

absl::StatusOr<std::string> NamedLibrary(const std::string& name) {
  const std::string path = Library(name);
  if (!path.empty()) return Preloadable(path);
  return absl::NotFoundError("cannot read " + name +
                             "; set ALLOMON_LIBRARY to the path of liballomon.so");
}

}  // namespace

absl::StatusOr<std::string> FindLibrary(const std::string& command_path, bool keeps_malloc) {
  const char* const named = getenv("ALLOMON_LIBRARY");
  if (named != nullptr && *named != '\0') return NamedLibrary(named);
  const std::string name = keeps_malloc ? "liballomon-host.so" : "liballomon.so";
  const std::string folder = command_path.substr(0, command_path.rfind('/') + 1);
  for (const char* place : kPlaces) {
    const std::string path = Library(folder + place + name);
    if (!path.empty()) return Preloadable(path);
  }
  return absl::NotFoundError("no " + name + " in " + folder + "../lib or " + folder +
                             "../lib/allomon; install it there, build it (bazel build "
                             "//allocator:" +
                             name + ", or cmake --build with the target " +
                             (keeps_malloc ? "allomon_preloaded_host" : "allomon_preloaded") +
                             "), or set ALLOMON_LIBRARY to its path");
}

std::string ThisCommand() { return RealPath("/proc/self/exe"); }

}  // namespace allomon::run
