#include "tracker/control/orders.h"

#include <cstring>
#include <memory>
#include <new>

#include "tracker/core/control.h"
#include "tracker/recording/file_path.h"
#include "tracker/recording/start.h"

namespace allomon::control {
namespace {

bool Copy(const char* text, char* room, size_t room_bytes) {
  const size_t length = strlen(text);
  if (length >= room_bytes) return false;
  memcpy(room, text, length + 1);
  return true;
}

const char* TextOf(const recording::Started& started) {
  if (started.error != nullptr) return started.error;
  switch (started.control) {
    case internal::ControlError::kNone:
      return nullptr;
    case internal::ControlError::kBadRate:
      return "the rate must be a number in [0, 1] (samples per word)";
    default:
      return "too many sessions sample already";
  }
}

}  // namespace

bool Orders::SetDefaults(const AttendOptions& options, const char* folder) {
  default_rate_ = options.rate;
  default_limit_bytes_ = options.limit_bytes;
  seed_ = options.seed;
  watcher_ = options.watcher;
  if (*options.path != '\0') return Copy(options.path, default_path_, sizeof(default_path_));
  strcpy(default_path_, folder);
  strcat(default_path_, kNamePrefix);
  strcat(default_path_, "%p");
  strcat(default_path_, kRecordingSuffix);
  return true;
}

const char* Orders::Start(const Request& request) {
  if (session_ != 0) return "it records already; stop it first";
  const char* const path = *request.path != '\0' ? request.path : default_path_;
  recording::StartOptions options;
  options.path = path;
  options.rate = request.rate < 0 ? default_rate_ : request.rate;
  options.limit_bytes = request.limit_bytes == 0 ? default_limit_bytes_ : request.limit_bytes;
  options.seed = seed_ ? *seed_ : internal::RandomSeed();
  options.watcher = watcher_;
  const recording::Started started = recording::StartRecorder(options);
  if (const char* const error = TextOf(started)) return error;
  Copy(path, path_, sizeof(path_));
  rate_ = options.rate;
  session_ = started.session;
  is_child_ = false;
  return nullptr;
}

const char* Orders::Stop() {
  if (session_ == 0) return "it does not record";
  recording::StopRecorder(session_);
  session_ = 0;
  return nullptr;
}

const char* Orders::Obey(const Request& request) {
  switch (request.verb) {
    case Verb::kStart:
      return Start(request);
    case Verb::kStop:
      return Stop();
    case Verb::kRestart:
      Stop();
      return Start(request);
    case Verb::kNone:
      break;
  }
  return "the request is not known; use the allomon command of the same version";
}

void Orders::CarryOut(const Request& request, uint32_t pid, Reply* reply) {
  const char* const error = Obey(request);
  reply->number = request.number;
  reply->answer = error == nullptr ? Answer::kDone : Answer::kRefused;
  strncpy(reply->text, error == nullptr ? "" : error, sizeof(reply->text) - 1);
  Describe(pid, reply);
}

void Orders::Describe(uint32_t pid, Reply* reply) const {
  reply->state = session_ == 0 ? State::kIdle : State::kRecording;
  reply->rate = rate_;
  if (*path_ == '\0') return;
  const std::unique_ptr<recording::FilePath> path(new (std::nothrow) recording::FilePath());
  if (path == nullptr) return;
  recording::ExpandPath(path_, pid, is_child_, path.get());
  if (!Copy(path->text, reply->recording, sizeof(reply->recording))) *reply->recording = '\0';
}

}  // namespace allomon::control
