#include "tracker/formats/mlmon_head.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace allomon {
namespace {

// Removes the next line, with its newline, from the text, and returns it without.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

bool ReadKind(std::string_view name, ProfileKind* kind) {
  *kind = name == "time"    ? ProfileKind::kTime
          : name == "count" ? ProfileKind::kCount
                            : ProfileKind::kAlloc;
  return name == "alloc" || name == "time" || name == "count";
}

// Reads two numbers: the total, and the collector's.
bool ReadTotals(std::string_view line, MlmonInt* total) {
  MlmonInt number = 0;
  *total = 0;
  if (line.empty()) return false;
  for (const char c : line) {
    if (c == ' ') {
      *total += number;
      number = 0;
    } else if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
    } else {
      return false;
    }
  }
  *total += number;
  return true;
}

bool ParseHead(std::string_view text, MlmonHead* head) {
  if (TakeLine(&text) != "MLton prof" || !ReadKind(TakeLine(&text), &head->kind)) return false;
  TakeLine(&text);  // the style
  TakeLine(&text);  // the magic
  return ReadTotals(TakeLine(&text), &head->total);
}

}  // namespace

std::optional<MlmonHead> ReadMlmonHead(const std::string& path) {
  MlmonHead head;
  if (lstat(path.c_str(), &head.file) != 0 || !S_ISREG(head.file.st_mode)) return std::nullopt;
  if (head.file.st_uid != geteuid()) return std::nullopt;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  char text[256];
  const ssize_t bytes = read(fd, text, sizeof(text));
  close(fd);
  if (bytes <= 0 || !ParseHead({text, static_cast<size_t>(bytes)}, &head)) return std::nullopt;
  return head;
}

}  // namespace allomon
