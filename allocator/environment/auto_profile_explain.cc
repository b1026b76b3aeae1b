#include "allocator/environment/auto_profile_explain.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tracker/base/elf_notes.h"
#include "tracker/base/own_memory.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon {
namespace {

constexpr double kMiB = 1 << 20;
// A program with less memory uses it mostly for its libraries and the backend's first pages.
constexpr double kLeastExplainedBytes = 32 * kMiB;
constexpr double kLittlePart = 0.25;

// Returns the number after `name` in the text of /proc/self/status (proc(5)), converted from kB to
// bytes.
double BytesOf(const char* name, const char* status) {
  const char* const at = strstr(status, name);
  return at == nullptr ? 0 : 1024 * strtod(at + strlen(name), nullptr);
}

// Returns the resident memory that is not mapped from files, without the profiler's own: now, or at
// its maximum. (The maximum is an estimate, which assumes that as much was mapped from files then.)
double AnonymousBytes(bool at_most) {
  const int fd = internal::sys::Open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char status[4096] = {};
  const ssize_t bytes = internal::sys::Read(fd, status, sizeof(status) - 1);
  internal::sys::Close(fd);
  if (bytes <= 0) return 0;
  const double of_files = BytesOf("\nRssFile:", status) + BytesOf("\nRssShmem:", status);
  const double anonymous =
      at_most ? BytesOf("\nVmHWM:", status) - of_files : BytesOf("\nRssAnon:", status);
  return std::max(0.0, anonymous - static_cast<double>(internal::OwnMemory::mapped_bytes()));
}

std::string InMiB(double bytes) {
  char text[64];
  snprintf(text, sizeof(text), bytes < 10 * kMiB ? "%.1f MiB" : "%.0f MiB", bytes / kMiB);
  return text;
}

// The backend keeps freed memory for a while, so only a little of the resident memory may be live.
// But the sum of all allocations is never less than what is resident of them.
std::string LittleOf(double anonymous_bytes, const SeenMemory& seen) {
  const std::string seen_by = seen.mapped ? "malloc and mmap" : "malloc";
  const std::string line = "only " + InMiB(seen.bytes) + " of the " + InMiB(anonymous_bytes) +
                           " of anonymous memory in use ";
  const std::string rest =
      seen.mapped
          ? "came by brk, or was reserved first and made accessible later"
          : "the program maps itself (an allocator of its own, the heap of a runtime), which "
            "ALLOMON_MMAP=1 counts";
  return seen.live ? line + "is what " + seen_by +
                         " gave and is not freed; the rest was freed and "
                         "is kept for later, or " +
                         rest
                   : line + "at once came from " + seen_by + "; the rest " + rest;
}

std::string Nothing(double rate) {
  char often[96] = "";
  if (rate > 0 && rate < 1) {
    snprintf(often, sizeof(often), " (of less than %.0f bytes nothing is seen, mostly)", 8 / rate);
  }
  return std::string("nothing was sampled: the program asked malloc for little") + often +
         ", or has an allocator of its own";
}

// The linker of Go stores its build id in a note of that name and type (cmd/link, elf.go).
constexpr std::string_view kGo("Go\0\0", 4);
constexpr uint32_t kGoBuildId = 4;

bool HasGoNote(internal::ByteReader notes) {
  for (internal::ElfNote note; internal::TakeNote(&notes, &note);) {
    if (note.type == kGoBuildId && note.name == kGo) return true;
  }
  return false;
}

// The first object is the program.
int LookAtProgram(dl_phdr_info* object, size_t, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const uint8_t*>(object->dlpi_addr + segment.p_vaddr);
    *static_cast<bool*>(found) |= HasGoNote(internal::ByteReader(notes, notes + segment.p_memsz));
  }
  return 1;
}

}  // namespace

bool IsOfGo() {
  bool found = false;
  dl_iterate_phdr(LookAtProgram, &found);
  return found;
}

std::string WhySoLittle(const SeenMemory& seen) {
  const double anonymous_bytes = AnonymousBytes(!seen.live);
  if (anonymous_bytes >= kLeastExplainedBytes && seen.bytes < kLittlePart * anonymous_bytes) {
    return LittleOf(anonymous_bytes, seen);
  }
  return seen.bytes == 0 ? Nothing(seen.rate) : "";
}

}  // namespace allomon
