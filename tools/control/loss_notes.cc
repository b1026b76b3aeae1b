#include "tools/control/loss_notes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "tracker/formats/loss_note.h"

namespace allomon::control {
namespace {

struct ReadNote {
  FoundLossNote found;
  int64_t seconds;
};

bool IsNameOfNote(std::string_view name) {
  const std::string_view prefix = kLossNotePrefix + 1;  // without the slash
  const std::string_view suffix = kLossNoteSuffix;
  return name.size() > prefix.size() + suffix.size() && name.substr(0, prefix.size()) == prefix &&
         name.substr(name.size() - suffix.size()) == suffix;
}

template <size_t kRoom>
std::string TextOf(const char (&room)[kRoom]) {
  return {room, strnlen(room, kRoom)};
}

std::string TimeOf(int64_t seconds) {
  const time_t time = seconds;
  tm parts = {};
  char text[64] = "";
  if (localtime_r(&time, &parts) == nullptr) return "an unknown time";
  strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string LineOf(const LossNote& note) {
  return "process " + std::to_string(note.process_id) + " (" + TextOf(note.program) +
         ") left no profile at " + TimeOf(note.realtime_seconds) + ": " + TextOf(note.text);
}

bool HasEnded(uint64_t process) {
  const auto pid = static_cast<pid_t>(process);
  return pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH);
}

// Reads a note.  nullopt if the file is no note or another user's, or if its process has lost
// nothing yet.
std::optional<ReadNote> Read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat file;
  LossNote note = {};
  const bool is_ours = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                       (file.st_uid == geteuid() || geteuid() == 0);
  const bool is_whole = is_ours && pread(fd, &note, sizeof(note), 0) == sizeof(note);
  close(fd);
  if (!is_whole || memcmp(note.magic, kLossNoteMagic, sizeof(note.magic)) != 0) return std::nullopt;
  if (*note.text != '\0') return ReadNote{{path, LineOf(note)}, note.realtime_seconds};
  if (!HasEnded(note.process_id)) return std::nullopt;
  return ReadNote{{path, ""}, note.realtime_seconds};
}

}  // namespace

std::vector<FoundLossNote> LossNotes() {
  std::vector<ReadNote> notes;
  for (const std::string folder : kLossNoteFolders) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    if (entries == nullptr) continue;
    while (const dirent* const entry = readdir(entries.get())) {
      if (!IsNameOfNote(entry->d_name)) continue;
      if (auto note = Read(folder + "/" + entry->d_name)) notes.push_back(*std::move(note));
    }
  }
  std::sort(notes.begin(), notes.end(),
            [](const ReadNote& a, const ReadNote& b) { return a.seconds < b.seconds; });
  std::vector<FoundLossNote> found;
  found.reserve(notes.size());
  for (ReadNote& note : notes) found.push_back(std::move(note.found));
  return found;
}

}  // namespace allomon::control
