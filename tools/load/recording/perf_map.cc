#include "tools/load/recording/perf_map.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "tools/process/places.h"
#include "tracker/base/check.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;
constexpr int kMostFolders = 1000;

// Removes a hexadecimal number and the blank after it.
bool TakeNumber(std::string_view* line, uint64_t* number) {
  if (line->substr(0, 2) == "0x") line->remove_prefix(2);
  const auto [end, error] = std::from_chars(line->begin(), line->end(), *number, 16);
  if (error != std::errc() || end == line->end() || *end != ' ') return false;
  line->remove_prefix(static_cast<size_t>(end - line->begin()) + 1);
  return true;
}

uint64_t NanosOf(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

struct Trust {
  uint64_t since_nanos = 0;
  uid_t user = 0;  // besides this process's and root
};

// Reads a file.  False unless it can be trusted: see PerfMap::OfProcess.
bool ReadTrusted(const std::string& path, const Trust& trust, std::string* text) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status;
  const bool is_trusted =
      fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      (status.st_uid == geteuid() || status.st_uid == 0 || status.st_uid == trust.user) &&
      NanosOf(status.st_mtim) >= trust.since_nanos;
  for (ssize_t got = 1; is_trusted && got > 0 && text->size() < PerfMap::kMostBytes;) {
    char chunk[65536];
    got = read(fd, chunk, sizeof chunk);
    if (got > 0) text->append(chunk, static_cast<size_t>(got));
  }
  close(fd);
  return is_trusted;
}

// Returns the mapped file with that name in any folder, or "".
std::string MappedFile(const std::string& process, const std::string& name) {
  std::ifstream maps("/proc/" + process + "/maps");
  const std::string end = "/" + name;
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos || line.size() < path + end.size()) continue;
    if (line.compare(line.size() - end.size(), end.size(), end) == 0) return line.substr(path);
  }
  return "";
}

// The folders of agents' dumps: one for each day and run.
void AddAgentsFolders(const std::string& name, std::vector<std::string>* paths) {
  const char* const chosen = std::getenv("JITDUMPDIR");
  const char* const home = chosen != nullptr ? chosen : std::getenv("HOME");
  if (home == nullptr) return;
  const std::string folder = std::string(home) + "/.debug/jit";
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  for (int count = 0; count < kMostFolders; ++count) {
    const dirent* const entry = readdir(entries);
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') paths->push_back(folder + "/" + entry->d_name + "/" + name);
  }
  closedir(entries);
}

std::vector<std::string> DumpsOf(const std::string& root, const std::string& process,
                                 const std::string& inner) {
  const std::string name = "jit-" + inner + ".dump";
  std::vector<std::string> paths;
  const std::string mapped = MappedFile(process, name);
  if (!mapped.empty()) paths.push_back(root + mapped);
  paths.push_back(root + "/tmp/" + name);
  paths.push_back("/tmp/" + name);
  paths.push_back(name);
  AddAgentsFolders(name, &paths);
  return paths;
}

// Removes ":NUMBER" from the end.
bool TakeLastNumber(std::string_view* text, uint32_t* number) {
  const size_t colon = text->rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view digits = text->substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), *number);
  if (error != std::errc() || end != digits.end()) return false;
  text->remove_suffix(text->size() - colon);
  return true;
}

}  // namespace

GeneratedFunction ParseGeneratedName(std::string_view name) {
  constexpr std::string_view kKinds[] = {"JS:", "LazyCompile:", "Function:", "Eval:", "Script:"};
  std::string_view rest = name;
  for (const std::string_view kind : kKinds) {
    if (name.substr(0, kind.size()) == kind) rest.remove_prefix(kind.size());
  }
  if (rest.size() == name.size()) return {name, "", 0};
  rest.remove_prefix(std::min(rest.find_first_not_of("*~^+"), rest.size()));
  const size_t blank = std::min(rest.find(' '), rest.size());
  GeneratedFunction function = {rest.substr(0, blank),
                                rest.substr(std::min(blank + 1, rest.size())), 0};
  uint32_t column = 0;
  if (!TakeLastNumber(&function.file, &column)) return {name, "", 0};
  if (!TakeLastNumber(&function.file, &function.line)) function.line = column;
  if (function.name.empty()) function.name = "(anonymous)";
  return function;
}

PerfMap PerfMap::OfProcess(uint32_t pid, uint64_t start_realtime_nanos) {
  const std::string process = std::to_string(pid);
  const std::string inner = std::to_string(process::IdInside(pid));
  const std::string root = process::RootOf(pid);
  struct stat folder = {};
  const bool runs = stat(("/proc/" + process).c_str(), &folder) == 0;
  const Trust trust = {start_realtime_nanos, runs ? folder.st_uid : geteuid()};
  std::string text;
  (void)(ReadTrusted(root + "/tmp/perf-" + inner + ".map", trust, &text) ||
         ReadTrusted("/tmp/perf-" + process + ".map", trust, &text));
  for (const std::string& path : DumpsOf(root, process, inner)) {
    std::string dump;
    if (!ReadTrusted(path, trust, &dump)) continue;
    uint32_t number = pid;
    std::from_chars(inner.data(), inner.data() + inner.size(), number);
    if (!ReadJitDump(dump, number).empty()) {
      return PerfMap(std::move(text), std::move(dump), number);
    }
  }
  return PerfMap(std::move(text));
}

PerfMap::PerfMap(std::string text, std::string dump, uint32_t pid)
    : text_(std::make_unique<const std::string>(std::move(text))),
      dump_(std::make_unique<const std::string>(std::move(dump))) {
  std::vector<GeneratedCode> functions;
  AddLines(&functions);
  const std::vector<GeneratedCode> dumped = ReadJitDump(*dump_, pid);
  functions.insert(functions.end(), dumped.begin(), dumped.end());
  // The last of a place counts: what overlaps it was there before.
  std::map<uint64_t, GeneratedCode> by_begin;
  for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
    const auto next = by_begin.lower_bound(function->end);
    const bool overlaps = next != by_begin.begin() && std::prev(next)->second.end > function->begin;
    if (!overlaps) by_begin.emplace_hint(next, function->begin, *function);
  }
  for (const auto& [begin, function] : by_begin) {
    ALLOMON_DCHECK("inv.load.places",
                   functions_.empty() || functions_.back().end <= function.begin);
    functions_.push_back(function);
  }
}

void PerfMap::AddLines(std::vector<GeneratedCode>* functions) const {
  for (std::string_view rest = *text_; !rest.empty();) {
    const size_t newline = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(std::min(newline + 1, rest.size()));
    uint64_t begin = 0;
    uint64_t size = 0;
    if (!TakeNumber(&line, &begin) || !TakeNumber(&line, &size)) continue;
    if (size == 0 || size > kMostCodeBytes || begin > UINT64_MAX - size || line.empty()) continue;
    functions->push_back({begin, begin + size, line, "", 0});
  }
}

const GeneratedCode* PerfMap::At(uint64_t address) const {
  const auto next = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](uint64_t wanted, const GeneratedCode& function) { return wanted < function.begin; });
  if (next == functions_.begin() || std::prev(next)->end <= address) return nullptr;
  return &*std::prev(next);
}

std::string_view PerfMap::Find(uint64_t address) const {
  const GeneratedCode* const function = At(address);
  return function == nullptr ? "" : function->name;
}

GeneratedFunction PerfMap::FindFunction(uint64_t address) const {
  const GeneratedCode* const function = At(address);
  if (function == nullptr) return {"", "", 0};
  GeneratedFunction parts = ParseGeneratedName(function->name);
  if (parts.file.empty() && !function->file.empty()) {
    parts.file = function->file;
    parts.line = function->line;
  }
  return parts;
}

}  // namespace allomon::recording
