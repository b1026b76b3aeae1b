#include "tools/serve/serve.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/load/profile_options.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/serve/address.h"
#include "tools/serve/front.h"
#include "tools/serve/pages.h"
#include "tools/serve/process_source.h"
#include "tools/serve/push_endpoint.h"
#include "tools/serve/push_look.h"
#include "tools/serve/push_post.h"
#include "tools/serve/pusher.h"
#include "tools/serve/source.h"
#include "tools/serve/token.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

namespace allomon::serve {
namespace {

using options::Bad;

absl::Status SetPid(const std::string& value, Options* options) {
  if (options::ParseNumber(value, &options->pid) && options->pid != 0 &&
      options->pid <= INT32_MAX) {
    return absl::OkStatus();
  }
  return options::BadValue("--pid", value, "the id of a process; allomon list shows them");
}

// Seconds, or a number with a unit.
absl::Status SetInterval(const std::string& value, Options* options) {
  constexpr uint32_t kMost = 86'400;
  uint32_t factor = 1;
  std::string_view number = value;
  for (const auto& [unit, seconds] : {std::pair('s', 1U), {'m', 60U}, {'h', 3600U}}) {
    if (number.empty() || number.back() != unit) continue;
    factor = seconds;
    number.remove_suffix(1);
    break;
  }
  uint32_t count = 0;
  if (options::ParseNumber(number, &count) && count > 0 && count <= kMost / factor) {
    options->interval_seconds = count * factor;
    return absl::OkStatus();
  }
  return options::BadValue("--interval", value, "a time from 1s to 24h, such as 60s or 5m");
}

absl::Status AddWord(const std::string& word, Options*) {
  return Bad("\"" + word + "\": name a folder by --dir or a process by --pid");
}

absl::Status Check(const Options& options) {
  if (options.pid != 0 && !options.folder.empty()) return Bad("give --pid or --dir, not both");
  if (options.pid == 0 && options.all_children) return Bad("--all-children goes with --pid");
  if (options.pid != 0 && options.all_users) return Bad("--all-users goes with --dir");
  if (options.pid == 0 && options.rate.samples_per_word) {
    return Bad(
        "--rate, --every and --exact go with --pid: recordings of a folder have their rates");
  }
  if (!options.token.empty() && !options.token_file.empty()) {
    return Bad("give --token or --token-file, not both");
  }
  if (options.otlp.empty() && options.interval_seconds != 0) {
    return Bad("--interval goes with --otlp");
  }
  return options::CheckRate(options.rate);
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "serve";
  text.summary = "serve heaps to go tool pprof, Prometheus and browsers";
  text.usages = {"[--listen=ADDRESS:PORT] [--dir=DIR | --pid=PID] [options]"};
  text.description = {
      "Serves the heaps of processes that run, by HTTP: to go tool pprof, to Prometheus, to "
      "browsers.  Several processes add up; ?process=PID or ?process=NAME chooses."};
  text.terms = {{"/", "the flame graph as it is now; ?refresh=5 loads it again"},
                {"/metrics", "for Prometheus, by process and label"},
                {"/debug/pprof/", "for go tool pprof: heap, allocs, cmdline, symbol"}};
  text.statuses = {{"0", "ended by SIGINT or SIGTERM"},
                   {"2", "bad input, and one line says which"}};
  text.examples = {{"allomon serve --pid=4711", "records process 4711 and shows it at port 6060"},
                   {"allomon serve --otlp=http://127.0.0.1:4318 --interval=60s",
                    "also pushes profiles to a collector of OpenTelemetry"}};
  text.manual = "tools/serve/README.md";
  return text;
}

constexpr int kBadStatus = 2;
constexpr double kWaitSeconds = 10;
constexpr char kDefaultFolder[] = "/dev/shm";

std::string LineOf(const std::string& text) {
  return "allomon serve: " + Printable(text, report::ThisTerminal().charset) + "\n";
}

CommandResult Failed(const absl::Status& status) {
  return {kBadStatus, "", LineOf(std::string(status.message()))};
}

// Turns SIGINT and SIGTERM into a descriptor while it exists.  Afterwards they end the process
// again.
class Signals {
 public:
  Signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof info) > 0) {
    }
    close(fd_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
  sigset_t before_;
};

// Limits connections to the descriptors that the process may have, minus those for recordings.
FrontLimits Limits() {
  constexpr rlim_t kOthers = 64;
  FrontLimits limits;
  limits.is_quick = Pages::IsQuick;
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  const rlim_t wanted = limits.connections + kOthers;
  if (files.rlim_cur < wanted) {
    files.rlim_cur = std::min(files.rlim_max, wanted);
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
  }
  const rlim_t room = files.rlim_cur > 2 * kOthers ? files.rlim_cur - kOthers : kOthers;
  limits.connections = std::min<size_t>(limits.connections, room);
  return limits;
}

absl::Status CheckAddress(const Address& address, const std::string& token) {
  if (!token.empty() || IsLoopback(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "others reach " + address.Text() +
      ": give a token by --token-file or ALLOMON_TOKEN, or listen on 127.0.0.1");
}

absl::StatusOr<std::unique_ptr<Source>> SourceOf(const Options& options) {
  if (options.pid != 0) {
    ProcessSource::Wish wish;
    wish.pid = options.pid;
    wish.all_children = options.all_children;
    wish.rate = options.rate.samples_per_word.value_or(wish.rate);
    std::string note;
    auto source = ProcessSource::Open(wish, kWaitSeconds, &note);
    if (!source.ok()) return source.status();
    if (!note.empty()) fputs(LineOf(note).c_str(), stderr);
    return std::unique_ptr<Source>(*std::move(source));
  }
  auto source =
      std::make_unique<FolderSource>(options.folder.empty() ? kDefaultFolder : options.folder,
                                     options.all_users ? Owners::kAll : Owners::kOwn);
  const auto files = source->Files();
  if (!files.ok()) return files.status();
  return std::unique_ptr<Source>(std::move(source));
}

// Returns where --otlp goes; nullopt without it.
absl::StatusOr<std::optional<Endpoint>> EndpointOf(const Options& options) {
  if (options.otlp.empty()) return std::optional<Endpoint>();
  auto endpoint = ParseEndpoint(options.otlp);
  if (!endpoint.ok()) return endpoint.status();
  const char* const headers = getenv("OTEL_EXPORTER_OTLP_HEADERS");
  auto parsed = ParsePushHeaders(headers == nullptr ? "" : headers);
  if (!parsed.ok()) return parsed.status();
  endpoint->headers = *std::move(parsed);
  const char* const certificates = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");
  if (certificates != nullptr) endpoint->certificates = certificates;
  if (endpoint->is_https && !HasHttps()) {
    return Bad(
        "--otlp: https needs libcurl, which is not here: install it (apt install libcurl4), or "
        "name a collector on this machine by http");
  }
  return std::optional<Endpoint>(*std::move(endpoint));
}

int64_t UnixNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Begins to push.  What the pusher refers to must outlive it.
std::unique_ptr<Pusher> PusherOf(const Options& options, const Endpoint& endpoint,
                                 int64_t since_unix_nanos, Source* source, PushCounts* counts) {
  const auto say = [place = "--otlp: " + endpoint.Authority() + ": "](const std::string& line) {
    fputs(LineOf(place + line).c_str(), stderr);
  };
  const auto look = std::make_shared<PushLook>(
      source, options.name_sources, since_unix_nanos,
      [](const std::string& line) { fputs(LineOf("--otlp: " + line).c_str(), stderr); });
  PushWork work;
  work.look = [look](const std::atomic<bool>* is_cancelled) { return look->Look(is_cancelled); };
  work.post = [endpoint](const SharedText& body, const std::atomic<bool>* is_cancelled) {
    constexpr WorkLimits kLimits = {size_t{256} << 20, std::chrono::milliseconds(30'000)};
    return Post(endpoint, body, kLimits, is_cancelled);
  };
  work.say = say;
  PushTimes times;
  if (options.interval_seconds != 0)
    times.interval = std::chrono::seconds(options.interval_seconds);
  return std::make_unique<Pusher>(std::move(work), times, QueueLimits(), counts);
}

CommandResult Serve(const Options& options, const Address& address, const std::string& token,
                    const std::optional<Endpoint>& endpoint) {
  const int64_t begin_unix_nanos = UnixNanos();
  const auto listening = Listen(address);
  if (!listening.ok()) return Failed(listening.status());
  // Blocks the signals before threads start, so that these do not receive them.
  auto signals = std::make_unique<Signals>();
  auto source = SourceOf(options);
  if (!source.ok()) {
    close(*listening);
    return Failed(source.status());
  }
  PushCounts pushes;
  Pages pages(source->get(), options.name_sources, WorkLimits(), endpoint ? &pushes : nullptr);
  Front front(*listening, Limits(),
              Kept(token, [&pages](const Request& request) { return pages.Get(request); }));
  printf("%s", LineOf("http://" + AddressOf(*listening).Text() + "/").c_str());
  fflush(stdout);
  std::unique_ptr<Pusher> pusher;
  if (endpoint) pusher = PusherOf(options, *endpoint, begin_unix_nanos, source->get(), &pushes);
  front.Run(signals->fd());
  signals.reset();  // a second signal ends answers and pushes that still run
  return {};
}

}  // namespace

const char kTokenVariable[] = "ALLOMON_TOKEN";

const options::Command<Options>& ServeCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--listen", "ADDRESS:PORT", "127.0.0.1:6060",
          "Port 0: any.  An address that others reach needs a token.", &Options::listen},
         {"--dir", "DIR", "/dev/shm, where processes that allomon ctl has asked keep theirs",
          "all recordings of this folder.", &Options::folder},
         {"--all-users", "with --dir: recordings that other users own, too", &Options::all_users},
         {"--pid", "PID", "",
          "those of one process, which is asked to record if it does not; what was begun ends "
          "with the server",
          SetPid},
         {"--all-children", "with --pid: of the processes that it has started, too",
          &Options::all_children}}},
       {"Of a recording that --pid begins", options::RateOptions(&Options::rate)},
       {"To a collector of OpenTelemetry",
        {{"--otlp", "URL", "",
          "pushes profiles there, as OTLP over HTTP: what was allocated since the push before, and "
          "what is live.  A URL without a path gets /v1development/profiles.  Headers that the "
          "collector wants are in OTEL_EXPORTER_OTLP_HEADERS",
          &Options::otlp},
         {"--interval", "TIME", "60s", "between two pushes: 1s to 24h", SetInterval}}},
       {"",
        {{"--token-file", "FILE", "",
          "its first line is the token that clients must send, as \"Authorization: Bearer "
          "TOKEN\"; or the variable ALLOMON_TOKEN",
          &Options::token_file},
         {"--token", "TOKEN", "", "the token, which every user of the machine can read",
          &Options::token}}},
       {"",
        {load::DebugDirOption(&Options::name_sources),
         load::SymbolsOption(&Options::name_sources)}}},
      AddWord, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return ServeCommand().Parse(args);
}

const options::CommandText& ServeText() { return ServeCommand().Text(); }

CommandResult RunServe(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  if (!options.ok()) return Failed(options.status());
  const auto answer = options::AnswerTo(*options, ServeCommand().Text());
  if (answer.has_value()) return *answer;
  const auto address = ParseAddress(options->listen);
  if (!address.ok()) return Failed(address.status());
  const auto token = TokenOf(*options);
  if (!token.ok()) return Failed(token.status());
  const absl::Status status = CheckAddress(*address, *token);
  if (!status.ok()) return Failed(status);
  const auto endpoint = EndpointOf(*options);
  if (!endpoint.ok()) return Failed(endpoint.status());
  return Serve(*options, *address, *token, *endpoint);
}

}  // namespace allomon::serve
