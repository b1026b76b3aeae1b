// HTTP: each input gets one complete response, or no response.
#include "tools/serve/http.h"

#include "tests/fuzz/target.h"
#include "tools/serve/address.h"
#include "tools/serve/frame.h"

namespace allomon::fuzz {
namespace {

using serve::Frame;

// The body of the reply to anything.
std::string BodyFor(const serve::Request& request) {
  std::string text = request.path + request.query + request.host;
  for (const auto& [name, value] : request.parameters) text += name + value;
  return text + (serve::IsLocalHost(request.host) ? "1" : "0");
}

// Once a frame is complete, later bytes do not change it.
void CheckPrefixes(std::string_view input, const Frame& whole) {
  for (const size_t cut : {input.size() / 2, whole.head_bytes}) {
    const Frame frame = serve::FrameOf(input.substr(0, cut));
    if (frame.state != Frame::State::kWhole) continue;
    Require(whole.state == Frame::State::kWhole && frame.head_bytes == whole.head_bytes &&
                frame.body_bytes == whole.body_bytes,
            "a request ends where it ended");
  }
}

bool CheckRequest(std::string_view input) {
  const Frame frame = serve::FrameOf(input);
  CheckPrefixes(input, frame);
  if (frame.state == Frame::State::kRefused) serve::Refusal(frame.status);
  if (frame.state != Frame::State::kWhole) return false;
  const size_t size = frame.head_bytes + frame.body_bytes;
  Require(size <= input.size() && size <= serve::kMostRequestBytes, "a whole request is there");
  int answers = 0;
  const serve::Response response = serve::Respond(
      input.substr(0, size), frame.head_bytes, false, [&](const serve::Request& request) {
        ++answers;
        Require(request.body.size() == frame.body_bytes, "the body is what was framed");
        return serve::TextReply(200, BodyFor(request));
      });
  Require(answers <= 1, "a request is answered once");
  Require(answers == 1 || response.close, "a connection ends after what is no request");
  Require(response.head.empty() || response.head.rfind("HTTP/1.1 ", 0) == 0, "a response is HTTP's",
          response.head);
  const size_t end = response.head.find("\r\n\r\n");
  Require(response.head.empty() || end + 4 == response.head.size(), "a head ends once",
          response.head);
  return answers == 1;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "GET /debug/pprof/heap?process=1&focus-label=a%3db HTTP/1.1\r\nHost: 127.0.0.1:6060\r\n\r\n",
      "HEAD / HTTP/1.0\r\nConnection: Keep-Alive\r\nRange: bytes=0-9,-1\r\n\r\n",
      "POST /debug/pprof/symbol HTTP/1.1\r\nHost: [::1]:6060\r\nContent-Length: 9\r\n\r\n"
      "0x12+0x34",
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n"
      "Accept-Encoding: gzip, br\r\nExpect: 100-continue\r\n\r\n"};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckRequest(TextOf(data, size)));
}
