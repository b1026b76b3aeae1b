#include "tracker/symbols/memory_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tracker/base/uncancelled.h"
#include "tracker/callstack/maps_line.h"

namespace allomon::internal {
namespace {

// False unless it is executable.
bool ParseLine(std::string_view text, Mapping* mapping) {
  MapsLine line;
  if (!ParseMapsLine(text, &line) || !line.executable) return false;
  *mapping = {line.begin, line.end, line.offset, line.device, line.inode, std::string(line.path)};
  if (mapping->path.empty()) mapping->path = "[anon]";
  return true;
}

// Reads without a stream, since streams would bring locales into the preloaded library.
std::string ReadToTheEnd(int fd) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t bytes = read(fd, part, sizeof(part));
    if (bytes > 0) {
      text.append(part, static_cast<size_t>(bytes));
    } else if (bytes == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

std::vector<Mapping> ParseMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    Mapping mapping;
    if (ParseLine(line, &mapping)) mappings.push_back(std::move(mapping));
  }
  return mappings;
}

// Does not use /proc/self, which is the first thread's: it cannot be read once that thread has
// ended by pthread_exit().
std::vector<Mapping> ReadExecutableMappings() {
  const Uncancelled uncancelled;
  const int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const std::string text = ReadToTheEnd(fd);
  close(fd);
  return ParseMaps(text);
}

const Mapping* FindMapping(const std::vector<Mapping>& mappings, uintptr_t address) {
  const auto above =
      std::upper_bound(mappings.begin(), mappings.end(), address,
                       [](uintptr_t a, const Mapping& mapping) { return a < mapping.begin; });
  if (above == mappings.begin() || address >= above[-1].end) return nullptr;
  return &above[-1];
}

}  // namespace allomon::internal
