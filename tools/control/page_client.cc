#include "tools/control/page_client.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tools/load/load.h"
#include "tools/process/places.h"
#include "tracker/formats/control_names.h"

namespace allomon::control {
namespace {

absl::Status Unavailable(const std::string& what) { return absl::UnavailableError(what); }

std::string Named(const ProcessFacts& process) {
  return "process " + std::to_string(process.pid) + " (" + process.name + ")";
}

// Opens the page's file.  Returns -1 on failure.
int OpenPage(const ProcessFacts& process) {
  for (const char* const folder : kFolders) {
    const std::string path = process::RootOf(process.pid) + folder +
                             ControlStemOf(process.pid_inside, process.pid_namespace).text +
                             kNameSuffix;
    const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return -1;
}

absl::Status NoPage(const ProcessFacts& process) {
  if (geteuid() != 0 && geteuid() != process.user) {
    return Unavailable(Named(process) + " belongs to another user: ask as that user, or as root");
  }
  if (load::RecordingMappedBy(process.pid).ok()) {
    return Unavailable(Named(process) + " takes no requests, since it records from its start on: " +
                       "allomon report " + std::to_string(process.pid));
  }
  if (const uint32_t child = load::RecordingChildOf(process.pid)) {
    const std::string number = std::to_string(child);
    return Unavailable(Named(process) + " takes no requests; process " + number +
                       ", which it has started, records: allomon report " + number);
  }
  const std::string start = "start it with ALLOMON_PROFILE=idle";
  if (HasMapped(process.pid, "/liballomon.so").value_or(false)) {
    return Unavailable(Named(process) + " has Allomon in it, but takes no requests: " + start);
  }
  return Unavailable(Named(process) + " takes no requests: " + start +
                     " and LD_PRELOAD=.../liballomon.so");
}

// Returns the text up to its end, or the whole array if it has no end.
template <size_t kBytes>
std::string TextOf(const char (&text)[kBytes]) {
  return std::string(text, strnlen(text, kBytes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PageClient>> PageClient::Open(uint32_t pid) {
  const auto process = FactsOf(pid);
  if (!process) return Unavailable("there is no process " + std::to_string(pid));
  const int fd = OpenPage(*process);
  if (fd < 0) return NoPage(*process);
  std::unique_ptr<PageClient> client(new PageClient(fd, *process));
  const absl::Status status = client->Check();
  if (!status.ok()) return status;
  return client;
}

PageClient::~PageClient() { close(fd_); }

absl::Status PageClient::Check() const {
  struct stat file;
  if (fstat(fd_, &file) != 0 || !S_ISREG(file.st_mode)) {
    return Unavailable("the control page of " + Named(process_) + " is no file");
  }
  if (file.st_uid != process_.user) {
    return Unavailable("the control page of " + Named(process_) +
                       " was made by another user; remove it");
  }
  const auto page = ReadPage();
  if (!page.ok()) return page.status();
  // Both times come from the kernel's clocks; a process's start is known to a tick.
  constexpr uint64_t kTickNanos = 10'000'000;
  const bool is_of_another = (*page)->pid != process_.pid_inside ||
                             (*page)->made_at_nanos + kTickNanos < process_.started_at_nanos;
  return is_of_another ? NoPage(process_) : absl::OkStatus();
}

absl::Status PageClient::Damaged() const {
  return Unavailable("the control page of " + Named(process_) + " is damaged; restart the process");
}

absl::StatusOr<std::unique_ptr<Page>> PageClient::ReadPage() const {
  auto page = std::make_unique<Page>();
  const ssize_t length = pread(fd_, page.get(), sizeof(Page), 0);
  if (length < static_cast<ssize_t>(sizeof(Page)) ||
      memcmp(page->magic, kMagic, sizeof(kMagic)) != 0) {
    return Damaged();
  }
  if (page->version != kLayoutVersion || page->size_bytes != sizeof(Page)) {
    return Unavailable(Named(process_) + " has Allomon " + TextOf(page->library_version) +
                       ", whose control page this command does not know; use its own");
  }
  return page;
}

absl::StatusOr<PageState> PageClient::Read() const {
  constexpr int kTries = 1000;  // a reply is written in a microsecond
  for (int i = 0; i < kTries; ++i) {
    const auto read = ReadPage();
    if (!read.ok()) return read.status();
    const Page& page = **read;
    if (page.reply.sequence % 2 != 0) continue;
    PageState state;
    state.state = page.reply.state == State::kRecording ? State::kRecording : State::kIdle;
    state.rate = page.reply.rate;
    state.recording = TextOf(page.reply.recording);
    state.looks = page.looks;
    state.looked_at_nanos = page.looked_at_nanos;
    state.answered = page.reply.number;
    state.answer = page.reply.answer;
    state.refusal = TextOf(page.reply.text);
    state.asked = page.request.number;
    return state;
  }
  return Unavailable("the control page of " + Named(process_) + " does not come to rest");
}

absl::Status PageClient::Lock() {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  return Unavailable("another command talks to " + Named(process_) + "; wait for it");
}

absl::Status PageClient::WriteAt(uint64_t offset, const void* bytes, size_t size_bytes) {
  if (pwrite(fd_, bytes, size_bytes, static_cast<off_t>(offset)) ==
      static_cast<ssize_t>(size_bytes)) {
    return absl::OkStatus();
  }
  return Unavailable("cannot write to the control page of " + Named(process_) + ": " +
                     strerror(errno));
}

// Writes the number last, because the process acts on it.  The number is 0 in the meantime, so that
// no process reads half of a request under a number that it knows.
absl::StatusOr<uint64_t> PageClient::Send(const Order& order) {
  const auto state = Read();
  if (!state.ok()) return state.status();
  auto request = std::make_unique<Request>();
  if (order.path.size() >= sizeof(request->path)) {
    return absl::InvalidArgumentError("the recording's path is longer than " +
                                      std::to_string(sizeof(request->path) - 1) + " bytes");
  }
  request->verb = order.verb;
  request->for_children = order.for_children ? 1 : 0;
  request->rate = order.rate;
  request->limit_bytes = order.limit_bytes;
  memcpy(request->path, order.path.c_str(), order.path.size());
  const uint64_t last = std::max(state->asked, state->answered);
  if (last == UINT64_MAX) return Damaged();  // no process has had so many requests
  const uint64_t number = last + 1;
  constexpr size_t kNumberBytes = sizeof(request->number);
  const char* const rest = reinterpret_cast<const char*>(request.get()) + kNumberBytes;
  constexpr uint64_t kOffset = offsetof(Page, request);
  constexpr uint64_t kNone = 0;
  absl::Status status = WriteAt(kOffset, &kNone, sizeof(kNone));
  if (status.ok()) {
    status = WriteAt(kOffset + kNumberBytes, rest, sizeof(Request) - kNumberBytes);
  }
  if (status.ok()) status = WriteAt(kOffset, &number, sizeof(number));
  if (!status.ok()) return status;
  return number;
}

std::string PageClient::PathFromHere(const std::string& path) const {
  return process::PathFromHere(process_.pid, path);
}

std::vector<std::unique_ptr<PageClient>> PagesOfDescendants(uint32_t pid) {
  std::vector<std::unique_ptr<PageClient>> clients;
  for (const uint32_t child : DescendantsOf(pid)) {
    auto client = PageClient::Open(child);
    if (client.ok()) clients.push_back(*std::move(client));
  }
  return clients;
}

std::vector<PageClient*> Pointers(const std::vector<std::unique_ptr<PageClient>>& clients) {
  std::vector<PageClient*> pointers;
  for (const auto& client : clients) pointers.push_back(client.get());
  return pointers;
}

}  // namespace allomon::control
