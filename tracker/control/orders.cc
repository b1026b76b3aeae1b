#include "tracker/control/orders.h"

#include <cstring>
#include <memory>

#include "tracker/base/check.h"
#include "tracker/core/control.h"
#include "tracker/formats/control_names.h"
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

bool Orders::SetDefaults(const AttendOptions& options) {
  default_rate_ = options.rate;
  default_limit_bytes_ = options.limit_bytes;
  seed_ = options.seed;
  watcher_ = options.watcher;
  has_own_path_ = *options.path == '\0';
  if (has_own_path_) return true;
  // The path is made absolute now: the process may change its directory before a request comes.
  const auto path = std::make_unique<recording::FilePath>();
  return recording::MakePatternAbsolute(options.path, path.get()) &&
         Copy(path->text, default_path_, sizeof(default_path_));
}

void Orders::SetPlace(const char* folder, uint64_t pid_namespace) {
  folder_ = folder;
  pid_namespace_ = pid_namespace;
  if (has_own_path_) WriteDefaultPath(folder);
}

void Orders::WriteDefaultPath(const char* folder) {
  strcpy(default_path_, folder);
  strcat(default_path_, kNamePrefix);
  strcat(default_path_, "%p");
  WriteNamespace(default_path_ + strlen(default_path_), pid_namespace_);
  ALLOMON_DCHECK_LT("inv.control.text", strlen(default_path_) + strlen(kRecordingSuffix),
                    sizeof(default_path_));
  strcat(default_path_, kRecordingSuffix);
}

const char* Orders::Start(const Request& request) {
  if (session_ != 0) return "it records already; stop it first";
  if (*request.path != '\0') return StartAt(request.path, request);
  const char* const error = StartAt(default_path_, request);
  if (error == nullptr || !has_own_path_) return error;
  for (const char* const folder : kFolders) {
    if (strcmp(folder, folder_) == 0) continue;
    WriteDefaultPath(folder);
    const bool has_begun = StartAt(default_path_, request) == nullptr;
    WriteDefaultPath(folder_);
    if (has_begun) return nullptr;
  }
  return error;
}

const char* Orders::StartAt(const char* path, const Request& request) {
  ALLOMON_DCHECK_EQ("inv.control.session", session_, 0u);
  recording::StartOptions options;
  options.path = path;
  options.rate = request.rate < 0 ? default_rate_ : request.rate;
  if (options.rate == 0) return "its rate is 0, which samples nothing; give another by --rate";
  options.limit_bytes = request.limit_bytes == 0 ? default_limit_bytes_ : request.limit_bytes;
  options.seed = seed_ ? *seed_ : internal::RandomSeed();
  options.watcher = watcher_;
  const recording::Started started = recording::StartRecorder(options);
  if (const char* const error = TextOf(started)) return error;
  ALLOMON_DCHECK_NE("inv.control.session", started.session, 0u);
  rate_ = options.rate;
  session_ = started.session;
  return nullptr;
}

const char* Orders::Stop() {
  if (session_ == 0) return "it does not record";
  recording::PathOf(session_, &path_);
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

void Orders::CarryOut(const Request& request, Reply* reply) {
  ALLOMON_DCHECK_EQ("inv.control.text", request.path[sizeof(request.path) - 1], '\0');
  const char* const error = Obey(request);
  reply->number = request.number;
  reply->answer = error == nullptr ? Answer::kDone : Answer::kRefused;
  strncpy(reply->text, error == nullptr ? "" : error, sizeof(reply->text) - 1);
  Describe(reply);
}

void Orders::Describe(Reply* reply) {
  reply->state = session_ == 0 ? State::kIdle : State::kRecording;
  reply->rate = rate_;
  if (session_ != 0) recording::PathOf(session_, &path_);
  if (!Copy(path_.text, reply->recording, sizeof(reply->recording))) *reply->recording = '\0';
}

}  // namespace allomon::control
