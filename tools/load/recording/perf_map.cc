#include "tools/load/recording/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

namespace allomon::recording {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;
constexpr uint64_t kMostFunctionBytes = uint64_t{1} << 32;

// A hexadecimal number and the blank after it.
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

// The text of a file that may be believed.
bool ReadTrusted(const std::string& path, uint64_t since_nanos, std::string* text) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status;
  const bool is_trusted = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                          (status.st_uid == geteuid() || status.st_uid == 0) &&
                          NanosOf(status.st_mtim) >= since_nanos;
  for (ssize_t got = 1; is_trusted && got > 0 && text->size() < PerfMap::kMostBytes;) {
    char chunk[65536];
    got = read(fd, chunk, sizeof chunk);
    if (got > 0) text->append(chunk, static_cast<size_t>(got));
  }
  close(fd);
  return is_trusted;
}

// The process's number in its own pid namespace; `pid` if that is not known.
std::string InnermostNumber(uint32_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NSpid:", 0) == 0) return line.substr(line.find_last_of("\t ") + 1);
  }
  return std::to_string(pid);
}

// Takes ":NUMBER" from the end.
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
  std::string text;
  if (ReadTrusted("/proc/" + process + "/root/tmp/perf-" + InnermostNumber(pid) + ".map",
                  start_realtime_nanos, &text) ||
      ReadTrusted("/tmp/perf-" + process + ".map", start_realtime_nanos, &text)) {
    return PerfMap(std::move(text));
  }
  return PerfMap("");
}

// The last line of a place counts: what overlaps it was there before.
PerfMap::PerfMap(std::string text) : text_(std::make_unique<const std::string>(std::move(text))) {
  std::vector<Function> lines;
  for (std::string_view rest = *text_; !rest.empty();) {
    const size_t newline = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(std::min(newline + 1, rest.size()));
    uint64_t begin = 0;
    uint64_t size = 0;
    if (!TakeNumber(&line, &begin) || !TakeNumber(&line, &size)) continue;
    if (size == 0 || size > kMostFunctionBytes || begin > UINT64_MAX - size || line.empty())
      continue;
    lines.push_back({begin, begin + size, line});
  }
  std::map<uint64_t, Function> by_begin;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto next = by_begin.lower_bound(line->end);
    const bool overlaps = next != by_begin.begin() && std::prev(next)->second.end > line->begin;
    if (!overlaps) by_begin.emplace_hint(next, line->begin, *line);
  }
  for (const auto& [begin, function] : by_begin) functions_.push_back(function);
}

std::string_view PerfMap::Find(uint64_t address) const {
  const auto next = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](uint64_t wanted, const Function& function) { return wanted < function.begin; });
  if (next == functions_.begin() || std::prev(next)->end <= address) return "";
  return std::prev(next)->name;
}

}  // namespace allomon::recording
