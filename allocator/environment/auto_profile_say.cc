#include "allocator/environment/auto_profile_say.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "allocator/host/host_stderr.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/formats/loss_note.h"

namespace allomon::internal {

void Say(const std::string& message) {
  std::string line = "allomon: " + message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = '?';  // the value of a variable may hold a line end
  }
  line += '\n';
  WriteToStderr(line.data(), line.size());
}

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

void SayLoss(std::string_view why) {
  const ErrnoKeeper keeper;
  char line[4096];
  const size_t length =
      why.copy(line + kBegin.copy(line, kBegin.size()), sizeof(line) - kBegin.size() - 1);
  const size_t end = kBegin.size() + length;
  std::replace_if(
      line, line + end, [](char c) { return c == '\n' || c == '\r'; }, '?');
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
