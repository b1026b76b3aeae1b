// A line of /proc/PID/maps (proc(5)).
//
// No allocation, async-signal-safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_MAPS_LINE_H_
#define ALLOMON_TRACKER_CALLSTACK_MAPS_LINE_H_

#include <sys/sysmacros.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon::internal {

struct MapsLine {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool executable = false;
  uint64_t offset = 0;  // in the file, of the byte at `begin`
  uint64_t device =
      0;  // as stat(2) has it; on some file systems stat has another one (mapped_files.h)
  uint64_t inode = 0;     // 0: of no file
  std::string_view path;  // "[vdso]" and the like; empty if it has no name
};

namespace maps_line_detail {

// Takes a number, and the character after it.
inline bool TakeNumber(std::string_view* rest, unsigned base, char after, uint64_t* value) {
  *value = 0;
  size_t at = 0;
  for (; at < rest->size() && at < 20; ++at) {
    const char c = (*rest)[at];
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : 16;
    if (digit >= base) break;
    *value = *value * base + digit;
  }
  const bool is_end = at == rest->size();
  if (at == 0 || (!is_end && (*rest)[at] != after) || (is_end && after != ' ')) return false;
  rest->remove_prefix(is_end ? at : at + 1);
  return true;
}

}  // namespace maps_line_detail

// Parses "begin-end perms offset major:minor inode   path", without a newline.  Returns false for a
// malformed line.
inline bool ParseMapsLine(std::string_view line, MapsLine* parsed) {
  using maps_line_detail::TakeNumber;
  constexpr size_t kPermissions = 4;
  uint64_t begin, end, major_number, minor_number;
  if (!TakeNumber(&line, 16, '-', &begin) || !TakeNumber(&line, 16, ' ', &end)) return false;
  if (begin >= end || line.size() <= kPermissions || line[kPermissions] != ' ') return false;
  parsed->begin = begin;
  parsed->end = end;
  parsed->executable = line[2] == 'x';
  line.remove_prefix(kPermissions + 1);
  if (!TakeNumber(&line, 16, ' ', &parsed->offset) || !TakeNumber(&line, 16, ':', &major_number) ||
      !TakeNumber(&line, 16, ' ', &minor_number) || !TakeNumber(&line, 10, ' ', &parsed->inode)) {
    return false;
  }
  parsed->device =
      makedev(static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number));
  const size_t path = line.find_first_not_of(' ');
  parsed->path = path == std::string_view::npos ? std::string_view() : line.substr(path);
  return true;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_MAPS_LINE_H_
