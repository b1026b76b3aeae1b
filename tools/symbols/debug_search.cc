#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tools/process/places.h"
#include "tools/symbols/code_file.h"

namespace allomon {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string HexOf(const unsigned char* bytes, int count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += kDigits[bytes[i] / 16];
    text += kDigits[bytes[i] % 16];
  }
  return text;
}

// Rejects empty files: the client leaves one for each file that the servers did not have.
int OpenFilled(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat file = {};
  if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// Debuggers keep the debug file of the build id abcdef as .build-id/ab/cdef.debug.  A process with
// another root folder has it below that root.
int OpenNextTo(const char* file, const std::string& id, char** path) {
  const std::string root = process::RootOfPath(file == nullptr ? "" : file);
  if (root.empty() || id.size() < 3) return -1;
  const std::string name =
      root + "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  const int fd = OpenFilled(name);
  if (fd >= 0) *path = strdup(name.c_str());
  return fd;
}

int OpenById(Dwfl_Module* module, const char* code, char** path) {
  const unsigned char* id = nullptr;
  GElf_Addr address = 0;
  const int bytes = dwfl_module_build_id(module, &id, &address);
  if (bytes <= 0) return -1;
  const std::string text = HexOf(id, bytes);
  const int beside = OpenNextTo(code, text, path);
  if (beside >= 0) return beside;
  const std::string file = DebugCacheFolder() + "/" + text + "/debuginfo";
  const int fd = OpenFilled(file);
  if (fd >= 0) *path = strdup(file.c_str());
  return fd;
}

int FindDebugFile(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base,
                  const char* file, const char* link, GElf_Word crc, char** path) {
  auto* const choice = static_cast<DebugChoice*>(*data);
  if (choice != nullptr && !choice->expand.empty()) {
    const std::string chosen = std::exchange(choice->expand, "");
    const int expanded = ExpandedFile(OpenFilled(chosen));
    if (expanded >= 0) *path = strdup(chosen.c_str());
    return expanded;
  }
  int fd = dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, path);
  if (fd < 0) fd = OpenById(module, file, path);
  // .gnu_debugaltlink has no checksum.
  const bool is_alternate = link != nullptr && crc == 0;
  if (choice != nullptr && !is_alternate && *path != nullptr && IsExpandable(fd)) {
    choice->compressed = *path;
  }
  return fd;
}

// Returns libdwfl's default path, with one more folder.
char* SearchPath(const std::string& folder) {
  const std::string path = ":.debug:/usr/lib/debug" + (folder.empty() ? "" : ":" + folder);
  return strdup(path.c_str());
}

}  // namespace

std::string DebugCacheFolder() {
  const std::string chosen = Variable("DEBUGINFOD_CACHE_PATH");
  if (!chosen.empty()) return chosen;
  const std::string caches = Variable("XDG_CACHE_HOME");
  return (caches.empty() ? Variable("HOME") + "/.cache" : caches) + "/debuginfod_client";
}

Dwfl* BeginLocalSession(const std::string& folder) {
  static char* search_path = SearchPath(folder);
  static const Dwfl_Callbacks callbacks = {dwfl_build_id_find_elf, FindDebugFile,
                                           dwfl_offline_section_address, &search_path};
  unsetenv("DEBUGINFOD_URLS");
  return dwfl_begin(&callbacks);
}

}  // namespace allomon
