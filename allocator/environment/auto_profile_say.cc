#include "allocator/environment/auto_profile_say.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "allocator/host/host_stderr.h"
#include "tracker/base/check.h"
#include "tracker/base/elf_notes.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/own_memory.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/formats/loss_note.h"

namespace allomon::internal {
namespace {

constexpr std::string_view kBegin = "allomon: ";

// The file of PrepareLossNote(), which fork shares; or nullptr.
std::atomic<LossNote*> g_prepared{nullptr};

char* AddNumber(char* at, uint64_t number) {
  if (number >= 10) at = AddNumber(at, number / 10);
  *at = static_cast<char>('0' + number % 10);
  return at + 1;
}

// An existing file of another user stays, and then there is no note in that folder.
int CreateNote(const char* folder) {
  char path[64];
  char* at = stpcpy(stpcpy(path, folder), kLossNotePrefix);
  at = AddNumber(at, static_cast<uint64_t>(sys::SystemCall(SYS_geteuid)));
  *at++ = '-';
  at = AddNumber(at, static_cast<uint64_t>(sys::Getpid()) % kMostLossNotes);
  ALLOMON_DCHECK_LE("inv.host.text", at + strlen(kLossNoteSuffix) + 1, path + sizeof(path));
  strcpy(at, kLossNoteSuffix);
  sys::Unlink(path);
  return sys::Open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int CreateNote() {
  int fd = -1;
  for (const char* const folder : kLossNoteFolders) {
    fd = CreateNote(folder);
    if (fd >= 0) break;
  }
  return fd;
}

void Fill(std::string_view why, LossNote* note) {
  memcpy(note->magic, kLossNoteMagic, sizeof(note->magic));
  note->process_id = static_cast<uint64_t>(sys::Getpid());
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  note->realtime_seconds = now.tv_sec;
  prctl(PR_GET_NAME, note->program);
  why.copy(note->text, sizeof(note->text) - 1);
  ALLOMON_DCHECK_EQ("inv.host.text", note->text[sizeof(note->text) - 1], '\0');
}

// Writes through a pipe: if the file has been truncated, the kernel answers EFAULT, while a store
// would end the host by SIGBUS.
bool WriteInto(LossNote* shared, const LossNote& note) {
  int ends[2];
  if (sys::SystemCall(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const bool written = sys::Write(ends[1], &note, sizeof(note)) == sizeof(note) &&
                       sys::Read(ends[0], shared, sizeof(note)) == sizeof(note);
  sys::Close(ends[0]);
  sys::Close(ends[1]);
  return written;
}

void LeaveNote(std::string_view why) {
  LossNote note = {};
  Fill(why, &note);
  LossNote* const prepared = g_prepared.load(std::memory_order_acquire);
  if (prepared != nullptr && WriteInto(prepared, note)) return;
  const int fd = CreateNote();
  if (fd < 0) return;
  sys::Write(fd, &note, sizeof(note));
  sys::Close(fd);
}

}  // namespace

void Say(const std::string& message) {
  std::string line = "allomon: " + message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = '?';  // the value of a variable may hold a line end
  }
  line += '\n';
  WriteToStderr(line.data(), line.size());
}

void SayLoss(std::string_view why) {
  const ErrnoKeeper keeper;
  char line[4096];
  const size_t length =
      why.copy(line + kBegin.copy(line, kBegin.size()), sizeof(line) - kBegin.size() - 1);
  const size_t end = kBegin.size() + length;
  std::replace_if(
      line, line + end, [](char c) { return c == '\n' || c == '\r'; }, '?');
  ALLOMON_DCHECK_LT("inv.host.text", end, sizeof(line));
  line[end] = '\n';
  const bool is_read = StderrIsRead();
  WriteToStderr(line, end + 1);
  if (!is_read) LeaveNote({line + kBegin.size(), length});
}

void PrepareLossNote() {
  const ErrnoKeeper keeper;
  if (g_prepared.load(std::memory_order_acquire) != nullptr) return;
  const int fd = CreateNote();
  if (fd < 0) return;
  LossNote note = {};
  Fill("", &note);
  void* pages = nullptr;
  if (sys::Write(fd, &note, sizeof(note)) == sizeof(note)) {
    pages = sys::Mmap(nullptr, sizeof(note), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  sys::Close(fd);
  if (pages == nullptr || !sys::IsAddress(pages)) return;
  g_prepared.store(static_cast<LossNote*>(pages), std::memory_order_release);
}

}  // namespace allomon::internal

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
  if (seen.rate == 0 && seen.bytes == 0) {
    return "nothing was sampled: that is what ALLOMON_RATE=0 asks for";
  }
  const double anonymous_bytes = AnonymousBytes(!seen.live);
  if (anonymous_bytes >= kLeastExplainedBytes && seen.bytes < kLittlePart * anonymous_bytes) {
    return LittleOf(anonymous_bytes, seen);
  }
  return seen.bytes == 0 ? Nothing(seen.rate) : "";
}

}  // namespace allomon
