#include "tracker/callstack/memory_map.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace allomon::internal {
namespace {

// "begin-end perms offset device inode   path".  False unless it is executable.
bool ParseLine(const std::string& line, Mapping* mapping) {
  char permissions[5];
  int path_at = 0;
  const int fields =
      std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %*s %*s %n",
                  &mapping->begin, &mapping->end, permissions, &mapping->offset, &path_at);
  if (fields != 4 || path_at == 0 || permissions[2] != 'x') return false;
  mapping->path = line.substr(path_at);
  if (mapping->path.empty()) mapping->path = "[anon]";
  return mapping->begin < mapping->end;
}

}  // namespace

std::vector<Mapping> ParseMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    Mapping mapping;
    if (ParseLine(line, &mapping)) mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::vector<Mapping> ReadExecutableMappings() {
  std::ifstream file("/proc/self/maps");
  std::ostringstream text;
  text << file.rdbuf();
  return ParseMaps(text.str());
}

const Mapping* FindMapping(const std::vector<Mapping>& mappings, uintptr_t address) {
  const auto above =
      std::upper_bound(mappings.begin(), mappings.end(), address,
                       [](uintptr_t a, const Mapping& mapping) { return a < mapping.begin; });
  if (above == mappings.begin() || address >= above[-1].end) return nullptr;
  return &above[-1];
}

}  // namespace allomon::internal
