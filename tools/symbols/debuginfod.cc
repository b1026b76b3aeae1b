// g++ 12 with -fsanitize=address wrongly warns that states of std::regex, which the library uses,
// are not initialized (its bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "tools/symbols/debuginfod.h"

#include <fcntl.h>
#include <httplib.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>

#include "tools/symbols/code_file.h"
#include "tracker/names/base_name.h"

namespace allomon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kConnectSeconds = 5;
constexpr int kAnswerSeconds = 90;  // the preset of debuginfod's own client
constexpr int kMostSeconds = 3600;
constexpr double kLeastBytesPerSecond = 100 << 10;  // its least rate, too
constexpr uint64_t kMostBytes = uint64_t{8} << 30;
constexpr int kFound = 200;
constexpr int kNotFound = 404;
constexpr int kHttpPort = 80;
constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";
// Linkers write 16 or 20 bytes; other lengths are a user's.
constexpr size_t kLeastDigits = 4;
constexpr size_t kMostDigits = 128;

// A name of a folder, and a part of a URL: nothing else may stand in it.
bool IsBuildId(const std::string& text) {
  return text.size() >= kLeastDigits && text.size() <= kMostDigits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Clients leave an empty file where no server had one.
bool IsFilled(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

// Makes the folder and those above it.
bool MakeFolder(const std::string& path) {
  for (size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) {
    mkdir(path.substr(0, at).c_str(), S_IRWXU);
  }
  return mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

bool WriteAll(int file, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

int AnswerSeconds() {
  const char* const text = std::getenv("DEBUGINFOD_TIMEOUT");
  int seconds = 0;
  if (text == nullptr) return kAnswerSeconds;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, seconds);
  const bool is_number = error == std::errc() && rest == end && seconds > 0;
  return is_number ? std::min(seconds, kMostSeconds) : kAnswerSeconds;
}

// Cuts the connection when its time is over, so that a server cannot hold a command by a byte now
// and then.
class Watch {
 public:
  Watch(httplib::Client* client, int seconds)
      : client_(*client), seconds_(seconds), begin_(Clock::now()), thread_([this] { Run(); }) {}
  ~Watch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The bytes that have come.
  void Add(size_t bytes) { bytes_ += bytes; }
  bool HasCut() const { return has_cut_; }
  bool IsOver() const {
    const std::chrono::duration<double> elapsed = Clock::now() - begin_;
    return elapsed.count() > seconds_ + static_cast<double>(bytes_) / kLeastBytesPerSecond;
  }

 private:
  void Run() {
    constexpr std::chrono::milliseconds kLook(100);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_done_) {
      changed_.wait_for(lock, kLook);
      if (is_done_ || !IsOver()) continue;
      has_cut_ = true;
      client_.stop();
    }
  }

  httplib::Client& client_;
  const int seconds_;
  const Clock::time_point begin_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> has_cut_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::thread thread_;
};

// The library writes to connections that a server may have closed.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~WithoutSigpipe() { sigaction(SIGPIPE, &before_, nullptr); }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  struct sigaction before_ = {};
};

// A file beside its later name.  It is gone if it does not get that name.
class NewFile {
 public:
  explicit NewFile(const std::string& later) : name_(later + ".XXXXXX") {
    fd_ = mkostemp(name_.data(), O_CLOEXEC);
  }
  ~NewFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }
  bool Become(const std::string& later) const {
    return fchmod(fd_, S_IRUSR) == 0 && rename(name_.c_str(), later.c_str()) == 0;
  }

 private:
  std::string name_;
  int fd_ = -1;
};

}  // namespace

bool Debuginfod::ParseUrl(const std::string& url, Server* server, std::string* why) {
  if (url.rfind(kHttps, 0) == 0) {
    *why = "\"" + url +
           "\" is of https, which Allomon does not speak here: debuginfod-find debuginfo BUILD-ID "
           "fetches a file, which is then found in its cache";
    return false;
  }
  *why = "\"" + url + "\" is not a URL such as http://127.0.0.1:8002";
  if (url.rfind(kHttp, 0) != 0) return false;
  const std::string rest = url.substr(std::strlen(kHttp));
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string authority = rest.substr(0, slash);
  server->url = url;
  server->path = rest.substr(slash);
  while (!server->path.empty() && server->path.back() == '/') server->path.pop_back();
  while (server->url.back() == '/') server->url.pop_back();
  server->port = kHttpPort;
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  if (colon != authority.npos && (bracket == authority.npos || colon > bracket)) {
    const char* const end = authority.data() + authority.size();
    const auto [last, error] = std::from_chars(authority.data() + colon + 1, end, server->port);
    if (error != std::errc() || last != end || server->port == 0) return false;
    authority.resize(colon);
  }
  if (authority.size() > 2 && authority.front() == '[' && authority.back() == ']') {
    authority = authority.substr(1, authority.size() - 2);
  }
  server->host = authority;
  return !authority.empty() && authority.find_first_of("@?#[] ") == authority.npos;
}

std::unique_ptr<Debuginfod> Debuginfod::Make(const std::string& urls, std::string* why) {
  std::unique_ptr<Debuginfod> client(new Debuginfod());
  std::string_view rest = urls;
  while (!rest.empty()) {
    const size_t space = std::min(rest.find(' '), rest.size());
    const std::string url(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
    if (url.empty()) continue;
    Server server;
    if (ParseUrl(url, &server, why)) {
      client->servers_.push_back(std::move(server));
    } else if (url.rfind(kHttps, 0) == 0) {
      client->Note(*why);  // distributions name such a server; others may be there
    } else {
      return nullptr;
    }
  }
  if (why->empty()) *why = "no server is named";
  return client->servers_.empty() ? nullptr : std::move(client);
}

bool Debuginfod::Fetch(const std::string& build_id, What what, const std::string& path) {
  const std::string name = what == What::kProgram ? "executable" : "debuginfo";
  if (!IsBuildId(build_id) || failed_.count({build_id, name}) != 0) return false;
  if (IsFilled(DebugCacheFolder() + "/" + build_id + "/" + name)) return true;
  bool is_asked = false;
  bool has_problem = false;
  for (Server& server : servers_) {
    if (server.is_silent || has_no_folder_) continue;
    is_asked = true;
    const Outcome outcome = FetchFrom(&server, build_id, name, path);
    if (outcome == Outcome::kTaken) return true;
    has_problem |= outcome == Outcome::kProblem;
  }
  rmdir((DebugCacheFolder() + "/" + build_id).c_str());  // if it has nothing else
  failed_.insert({build_id, name});
  const std::string code = BaseName(path);
  const bool is_known = std::find(missing_.begin(), missing_.end(), code) != missing_.end();
  if (is_asked && !has_problem && what == What::kDebugInformation && !is_known) {
    missing_.push_back(code);
  }
  return false;
}

Debuginfod::Outcome Debuginfod::FetchFrom(Server* server, const std::string& build_id,
                                          const std::string& name, const std::string& path) {
  const std::string folder = DebugCacheFolder() + "/" + build_id;
  const std::string later = folder + "/" + name;
  const bool has_folder = MakeFolder(folder);
  const NewFile file(later);
  if (!has_folder || file.fd() < 0) {
    Note("cannot write in " + folder + " (" + std::strerror(errno) +
         "): DEBUGINFOD_CACHE_PATH names another folder for it");
    has_no_folder_ = true;
    return Outcome::kProblem;
  }
  const std::string target = server->path + "/buildid/" + build_id + "/" + name;
  const Outcome outcome = Get(server, target, file.fd(), path);
  if (outcome != Outcome::kTaken) return outcome;
  const auto code = CodeFile::Open(file.name(), "");
  if (code == nullptr || code->BuildId() != build_id) {
    Note(server->url + " answered with " + (code == nullptr ? "no ELF file" : "another build") +
         " for " + BaseName(path) + ": it is not used");
    return Outcome::kProblem;
  }
  if (file.Become(later)) return Outcome::kTaken;
  Note("cannot write " + later + " (" + std::strerror(errno) + ")");
  return Outcome::kProblem;
}

Debuginfod::Outcome Debuginfod::Get(Server* server, const std::string& target, int file,
                                    const std::string& path) {
  const WithoutSigpipe without_sigpipe;
  const int seconds = AnswerSeconds();
  httplib::Client client(server->host, server->port);
  client.set_connection_timeout(std::min(kConnectSeconds, seconds));
  client.set_read_timeout(seconds);
  client.set_keep_alive(false);
  Watch watch(&client, seconds);
  int status = 0;
  uint64_t bytes = 0;
  bool is_written = true;
  // Without either of them an answer that is cut short looks like a whole one.
  bool tells_end = false;
  const auto take_status = [&](const httplib::Response& response) {
    status = response.status;
    tells_end = response.has_header("Content-Length") || response.has_header("Transfer-Encoding");
    return true;
  };
  // The text of an error is not kept, but counts as bytes.
  const auto take_bytes = [&](const char* data, size_t size) {
    bytes += size;
    watch.Add(size);
    if (status == kFound) is_written = WriteAll(file, data, size);
    return is_written && bytes <= kMostBytes && !watch.IsOver();
  };
  const httplib::Headers headers = {{"User-Agent", "allomon"}};
  const auto result = client.Get(target, headers, take_status, take_bytes);
  if (!is_written) {
    Note("cannot write in " + DebugCacheFolder() + " (" + std::strerror(errno) + ")");
    has_no_folder_ = true;
    return Outcome::kProblem;
  }
  const bool is_slow = watch.HasCut() || (!result && watch.IsOver());
  if (!result || is_slow || (status == kFound && !tells_end)) {
    server->is_silent = true;
    const bool is_gone = !result && result.error() == httplib::Error::Connection;
    const char* const what = is_slow   ? " took too long (DEBUGINFOD_TIMEOUT sets the seconds)"
                             : is_gone ? " takes no connection"
                                       : " gave no whole answer of HTTP";
    Note(server->url + what + ": it is not asked again");
    return Outcome::kProblem;
  }
  if (result->status == kFound) return Outcome::kTaken;
  if (result->status == kNotFound) return Outcome::kNotThere;
  Note(server->url + " answered with status " + std::to_string(result->status) + " for " +
       BaseName(path));
  return Outcome::kProblem;
}

void Debuginfod::Note(const std::string& line) {
  if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
}

std::vector<std::string> Debuginfod::TakeNotes() {
  constexpr size_t kMostNames = 8;
  std::vector<std::string> notes = std::exchange(notes_, {});
  if (missing_.empty()) return notes;
  std::string names;
  for (size_t i = 0; i < missing_.size() && i < kMostNames; ++i) {
    names += (i == 0 ? "" : ", ") + missing_[i];
  }
  if (missing_.size() > kMostNames) names += ", ...";
  notes.push_back("no server has debug information of " + names);
  missing_.clear();
  return notes;
}

}  // namespace allomon
