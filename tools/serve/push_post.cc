// g++ 12 with -fsanitize=address wrongly warns that states of std::regex, which the library uses,
// are not initialized (its bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "tools/serve/push_post.h"

#include <httplib.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "tools/options/values.h"
#include "tools/pprof/wire.h"
#include "tools/text/plain_text.h"

namespace allomon::serve {
namespace {

constexpr int kConnectSeconds = 5;
constexpr int kSilentSeconds = 20;  // between two parts of an answer
constexpr size_t kMostMessage = 200;
constexpr char kProtobuf[] = "application/x-protobuf";
constexpr int kGrpcPort = 4317;

// Names of headers between the two processes.
constexpr char kStatus[] = "status";
constexpr char kProblem[] = "problem";
constexpr char kRetryAfter[] = "retry-after";
constexpr char kType[] = "type";

std::string ProblemOf(httplib::Error error, const Endpoint& endpoint) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection";
    case httplib::Error::Read:
      return endpoint.port == kGrpcPort
                 ? "no HTTP answer; 4317 is the port of gRPC, as a rule, and 4318 that of HTTP"
                 : "no HTTP answer";
    case httplib::Error::Write:
      return "the connection was cut";
    default:
      return httplib::to_string(error);
  }
}

RawAnswer PostByHttp(const Endpoint& endpoint, const std::string& body) {
  httplib::Client client(endpoint.host, endpoint.port);
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kSilentSeconds);
  client.set_write_timeout(kSilentSeconds);
  client.set_keep_alive(false);
  httplib::Headers headers = {{"Content-Encoding", "gzip"}, {"User-Agent", "allomon"}};
  for (const auto& [name, value] : endpoint.headers) headers.emplace(name, value);
  const auto result = client.Post(endpoint.path, headers, body, kProtobuf);
  RawAnswer answer;
  if (!result) {
    answer.problem = ProblemOf(result.error(), endpoint);
    return answer;
  }
  answer.status = result->status;
  answer.retry_after = result->get_header_value("Retry-After");
  answer.type = result->get_header_value("Content-Type");
  answer.body = result->body;
  return answer;
}

Reply Pack(RawAnswer answer) {
  Reply reply;
  reply.body = std::make_shared<const std::string>(std::move(answer.body));
  reply.headers = {{kStatus, std::to_string(answer.status)},
                   {kProblem, std::move(answer.problem)},
                   {kRetryAfter, std::move(answer.retry_after)},
                   {kType, std::move(answer.type)}};
  return reply;
}

RawAnswer Unpack(const Reply& reply) {
  RawAnswer answer;
  if (reply.status != 200) {
    answer.problem = "no answer in time";
    return answer;
  }
  for (const auto& [name, value] : reply.headers) {
    if (name == kStatus) options::ParseNumber(value, &answer.status);
    if (name == kProblem) answer.problem = value;
    if (name == kRetryAfter) answer.retry_after = value;
    if (name == kType) answer.type = value;
  }
  if (reply.body != nullptr) answer.body = *reply.body;
  return answer;
}

bool IsProtobuf(const RawAnswer& answer) {
  return answer.type.compare(0, sizeof kProtobuf - 1, kProtobuf) == 0;
}

// Returns the first line of a text, if it is one for people.
std::string FirstLine(std::string_view text) {
  text = text.substr(0, std::min(text.find_first_of("\r\n"), kMostMessage));
  return Printable(std::string(text), Charset::kAscii);
}

// Returns field 2 of google.rpc.Status, or the text itself.
std::string MessageOf(const RawAnswer& answer) {
  if (!IsProtobuf(answer)) return FirstLine(answer.body);
  constexpr uint32_t kMessage = 2;
  std::string message;
  for (pprof::WireReader reader(answer.body); reader.Next();) {
    if (reader.field() == kMessage && reader.is_bytes()) message = FirstLine(reader.bytes());
  }
  return message;
}

// Reads the partial success of an answer, if it has one.
void SetPartial(const RawAnswer& answer, PushResult* result) {
  constexpr uint32_t kPartialSuccess = 1, kRejected = 1, kErrorMessage = 2;
  if (!IsProtobuf(answer)) return;
  for (pprof::WireReader outer(answer.body); outer.Next();) {
    if (outer.field() != kPartialSuccess || !outer.is_bytes()) continue;
    for (pprof::WireReader inner(outer.bytes()); inner.Next();) {
      if (inner.field() == kRejected && inner.number() > 0) result->is_partial = true;
      if (inner.field() == kErrorMessage) result->message = FirstLine(inner.bytes());
    }
  }
}

}  // namespace

bool PushResult::IsToRetry() const {
  constexpr int kAgain[] = {0, 429, 502, 503, 504};
  return std::find(std::begin(kAgain), std::end(kAgain), status) != std::end(kAgain);
}

double RetryAfterSeconds(const std::string& value, time_t now) {
  constexpr double kMostSeconds = 3600;
  unsigned seconds = 0;
  if (options::ParseNumber(value, &seconds)) return std::min<double>(seconds, kMostSeconds);
  tm date = {};
  const char* const end = strptime(value.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (end == nullptr || *end != '\0') return -1;
  return std::clamp(difftime(timegm(&date), now), 0.0, kMostSeconds);
}

PushResult ResultOf(const RawAnswer& answer, const Endpoint& endpoint, time_t now) {
  PushResult result;
  result.status = answer.status;
  if (answer.status == 0) {
    result.message = FirstLine(answer.problem);
    return result;
  }
  result.retry_after_seconds = RetryAfterSeconds(answer.retry_after, now);
  if (result.IsTaken()) {
    SetPartial(answer, &result);
    return result;
  }
  result.message = "status " + std::to_string(answer.status);
  const std::string of_collector = MessageOf(answer);
  if (!of_collector.empty()) result.message += ": " + of_collector;
  if (answer.status == 404) {
    result.message += "; has the collector a receiver of OTLP profiles at " + endpoint.path + "?";
  }
  return result;
}

PushResult Post(const Endpoint& endpoint, const SharedText& body, const WorkLimits& limits,
                const std::atomic<bool>* is_cancelled) {
  const Reply reply = MakeBounded(
      [&] {
        signal(SIGPIPE, SIG_IGN);
        return Pack(endpoint.is_https ? PostByCurl(endpoint, *body) : PostByHttp(endpoint, *body));
      },
      limits, is_cancelled);
  return ResultOf(Unpack(reply), endpoint, time(nullptr));
}

}  // namespace allomon::serve
