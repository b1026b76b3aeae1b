// Damaged requests and random bytes: each has one response, which is whole, or none.
#include <gtest/gtest.h>

#include <random>

#include "tests/profile/mutator.h"
#include "tools/serve/address.h"
#include "tools/serve/frame.h"
#include "tools/serve/http.h"

namespace allomon::serve {
namespace {

using testing::kFuzzRounds;
using testing::kFuzzSeed;
using testing::Mutator;

const char* const kRequests[] = {
    "GET /debug/pprof/heap?process=1&focus-label=a%3db HTTP/1.1\r\nHost: 127.0.0.1:6060\r\n\r\n",
    "HEAD / HTTP/1.0\r\nConnection: Keep-Alive\r\nRange: bytes=0-9,-1\r\n\r\n",
    "POST /debug/pprof/symbol HTTP/1.1\r\nHost: [::1]:6060\r\nContent-Length: 9\r\n\r\n0x12+0x34",
    "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n"
    "Accept-Encoding: gzip, br\r\nExpect: 100-continue\r\n\r\n"};

std::vector<std::string> Pieces() {
  return {"\r\n",
          "\r\n\r\n",
          "%",
          "%zz",
          "%00",
          ":",
          "?",
          "&&==",
          "Content-Length: 3\r\n",
          "chunked",
          "HTTP/1.1",
          std::string("\0", 1),
          "\xff\xfe",
          "Range: bytes=-\r\n",
          "Transfer-Encoding: chunked\r\n",
          "Host: [\r\n",
          "Content-Type: multipart/form-data; boundary=\r\n"};
}

// The body of the reply to anything.
std::string TextOf(const Request& request) {
  std::string text = request.path + request.query + request.host;
  for (const auto& [name, value] : request.parameters) text += name + value;
  return text + (IsLocalHost(request.host) ? "1" : "0");
}

void Check(const std::string& input) {
  const Frame frame = FrameOf(input);
  if (frame.state != Frame::State::kWhole) return;
  const size_t size = frame.head_bytes + frame.body_bytes;
  ASSERT_LE(size, input.size());
  int answers = 0;
  const Response response =
      Respond(input.substr(0, size), frame.head_bytes, false, [&](const Request& request) {
        ++answers;
        EXPECT_EQ(request.body.size(), frame.body_bytes);
        return TextReply(200, TextOf(request));
      });
  ASSERT_LE(answers, 1);
  ASSERT_TRUE(answers == 1 || response.close);
  if (response.head.empty()) return;
  ASSERT_EQ(response.head.rfind("HTTP/1.1 ", 0), 0u) << response.head;
}

TEST(HttpFuzzTest, DamagedRequests) {
  Mutator mutator(kFuzzSeed, Pieces());
  for (int i = 0; i < kFuzzRounds; ++i) {
    Check(mutator.Mutate(kRequests[mutator.Below(std::size(kRequests))]));
    if (HasFatalFailure()) return;
  }
}

TEST(HttpFuzzTest, RandomBytes) {
  std::minstd_rand random(kFuzzSeed);
  for (int i = 0; i < kFuzzRounds; ++i) {
    std::string input = i % 2 == 0 ? "GET " : "";
    for (size_t length = random() % 200; length > 0; --length) {
      input += static_cast<char>(random() % (i % 3 == 0 ? 128 : 256));
    }
    Check(input + "\r\n\r\n");
    if (HasFatalFailure()) return;
  }
}

// The library matches some headers by std::regex, whose stack grows with the text.
TEST(HttpFuzzTest, LongHeadersOfAllKinds) {
  for (const std::string name :
       {"Range", "Content-Type", "Accept-Encoding", "Host", "Connection"}) {
    for (const std::string unit : {"bytes=0-", "1,", "; boundary=x", "-", "9"}) {
      std::string value = name == "Range" ? "bytes=0-1" : "";
      while (value.size() + unit.size() < kMostHeadBytes - 200) value += unit;
      Check("GET / HTTP/1.1\r\n" + name + ": " + value + "\r\n\r\n");
    }
  }
}

}  // namespace
}  // namespace allomon::serve
