#include "tools/gate/history/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "tracker/formats/write_file.h"

namespace allomon::gate {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kVersionKey[] = "allomon_gate_history";
constexpr int kVersion = 1;
constexpr std::string_view kBeginning = "{\"allomon_gate_history\":";

absl::Status Failure(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(path + ": " + what);
}

absl::Status SystemFailure(const std::string& path, const char* what, int error,
                           const char* remedy) {
  return Failure(path, std::string(what) + ": " + std::strerror(error) + "; " + remedy);
}

// A descriptor that is closed at the end, which also gives up its lock.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// The file's bytes; nullopt with errno set if they cannot be read.
std::optional<std::string> Contents(int fd) {
  std::string text;
  std::string piece(size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t got = pread(fd, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (got < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    if (got == 0) return text;
    text.append(piece, 0, static_cast<size_t>(got));
    if (text.size() > 4 * kMostHistoryBytes) {
      errno = EFBIG;
      return std::nullopt;
    }
  }
}

// Writes 2 and not 2.0.
Json Number(double value) {
  if (!(std::abs(value) <= 1e15)) return value;
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

std::string ToLine(const Run& run) {
  Json line = {{kVersionKey, kVersion}, {"commit", run.commit}, {"date", run.date}};
  Json& figures = line["figures"] = Json::object();
  for (const Figure& figure : run.figures) {
    figures[figure.benchmark][figure.metric] = Number(figure.value);
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Throws Json::exception if the line has another form.
Run ToRun(const Json& line) {
  Run run;
  run.commit = line.at("commit").get<std::string>();
  run.date = line.at("date").get<std::string>();
  for (const auto& [benchmark, metrics] : line.at("figures").get_ref<const Json::object_t&>()) {
    for (const auto& [metric, value] : metrics.get_ref<const Json::object_t&>()) {
      run.figures.push_back({benchmark, metric, value.get<double>()});
    }
  }
  return run;
}

// Reads one line.  An error is for the whole file; no value means a line that was cut or damaged.
absl::StatusOr<std::optional<Run>> ReadLine(const std::string& path, std::string_view text) {
  try {
    const Json line = Json::parse(text);
    if (!line.is_object() || !line.contains(kVersionKey)) return std::optional<Run>();
    if (line[kVersionKey] != kVersion) {
      return Failure(path, "a history of version " + line[kVersionKey].dump() +
                               ", and this allomon reads version 1; update it, or name another "
                               "folder by --history");
    }
    return std::optional<Run>(ToRun(line));
  } catch (const Json::exception&) {
    return std::optional<Run>();
  }
}

bool IsOurs(std::string_view text) {
  const size_t size = std::min(text.size(), kBeginning.size());
  return text.substr(0, size) == kBeginning.substr(0, size);
}

absl::StatusOr<History> Parse(const std::string& path, std::string_view text) {
  if (!IsOurs(text)) {
    return Failure(path,
                   "not a history of allomon gate; move it away, or name another folder by "
                   "--history");
  }
  History history;
  size_t left_out = 0;
  size_t first_left_out = 0;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    auto run = ReadLine(path, line);
    if (!run.ok()) return run.status();
    if (run->has_value()) {
      history.runs.push_back(**std::move(run));
    } else if (left_out++ == 0) {
      first_left_out = number;
    }
  }
  if (left_out == 1) {
    history.damage = path + ":" + std::to_string(first_left_out) +
                     ": cut or damaged, so this run is left out; all others are read";
  } else if (left_out > 1) {
    history.damage = path + ":" + std::to_string(first_left_out) + ": cut or damaged, as are " +
                     std::to_string(left_out - 1) +
                     " lines after it; these runs are left out, all others are read";
  }
  return history;
}

// Returns the lines without the oldest quarter of the runs, or of the bytes.
std::string Shortened(std::string_view text) {
  size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  const size_t first_line = lines / 4;
  size_t at = 0;
  for (size_t line = 0; line < first_line || text.size() - at > kMostHistoryBytes * 3 / 4; ++line) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return std::string(text.substr(at));
}

// Appends in one write.  A disk that is full leaves the file as it was.
absl::Status AppendLine(const std::string& path, int fd, const std::string& line, size_t size) {
  const ssize_t written = write(fd, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  const int error = written < 0 ? errno : ENOSPC;
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
    return SystemFailure(path, "cannot be written whole", error, "its last line is cut");
  }
  return SystemFailure(path, "cannot be written", error, "it is as it was; make room");
}

}  // namespace

std::string HistoryPath(const std::string& folder) { return folder + "/gate_history.jsonl"; }

absl::StatusOr<History> ReadHistory(const std::string& folder) {
  const std::string path = HistoryPath(folder);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd() < 0 && errno == ENOENT) return History();
  std::optional<std::string> text;
  if (file.fd() >= 0) text = Contents(file.fd());
  if (!text.has_value()) {
    return SystemFailure(path, "cannot be read", errno, "name another folder by --history");
  }
  return Parse(path, *text);
}

absl::StatusOr<History> AppendRun(const std::string& folder, const Run& run) {
  const char* const remedy = "name a folder by --history that can be written";
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return SystemFailure(folder, "cannot be made", errno, remedy);
  }
  // The lock is a file of its own, since shortening replaces the history by a new file.
  const std::string lock_path = folder + "/gate_history.lock";
  const Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock.fd() < 0) return SystemFailure(lock_path, "cannot be written", errno, remedy);
  while (flock(lock.fd(), LOCK_EX) != 0) {
    if (errno != EINTR) return SystemFailure(lock_path, "cannot be locked", errno, remedy);
  }
  const std::string path = HistoryPath(folder);
  const Descriptor file(
      open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (file.fd() < 0) return SystemFailure(path, "cannot be written", errno, remedy);
  const auto text = Contents(file.fd());
  if (!text.has_value()) return SystemFailure(path, "cannot be read", errno, remedy);
  auto history = Parse(path, *text);
  if (!history.ok()) return history;
  const std::string line = ToLine(run);
  if (line.size() > kMostHistoryBytes / 4) {
    return Failure(path, "a run of " + std::to_string(line.size()) +
                             " bytes is too long for it; run fewer benchmarks");
  }
  // A line that was cut stays a line of its own.
  const std::string gap = text->empty() || text->back() == '\n' ? "" : "\n";
  if (history->runs.size() < kMostRuns && text->size() + line.size() < kMostHistoryBytes) {
    const absl::Status status = AppendLine(path, file.fd(), gap + line, text->size());
    if (!status.ok()) return status;
    history->runs.push_back(run);
    return history;
  }
  std::string error;
  const std::string shortened = Shortened(*text + gap) + line;
  if (!WriteFileAtomically(path, shortened, 0644, &error)) return absl::InternalError(error);
  return Parse(path, shortened);
}

}  // namespace allomon::gate
