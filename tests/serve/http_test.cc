// Each request gets one response, of the stated length, and ambiguous requests are refused.
#include "tools/serve/http.h"

#include <gtest/gtest.h>

#include "tools/serve/frame.h"

namespace allomon::serve {
namespace {

using State = Frame::State;

Response Ask(const std::string& text, const Answer& answer, bool close = false) {
  const Frame frame = FrameOf(text);
  EXPECT_EQ(frame.state, State::kWhole) << text;
  return Respond(std::string_view(text).substr(0, frame.head_bytes + frame.body_bytes),
                 frame.head_bytes, close, answer);
}

Reply Hello(const Request&) { return TextReply(200, "hello"); }

std::string BodyOf(const Response& response) {
  return response.body ? *response.body : std::string();
}

bool Has(const Response& response, const std::string& line) {
  return response.head.find("\r\n" + line + "\r\n") != std::string::npos;
}

TEST(FrameTest, RequestIsWholeAtItsEmptyLineAndItsBody) {
  EXPECT_EQ(FrameOf("").state, State::kMore);
  EXPECT_EQ(FrameOf("GET / HTTP/1.1\r\nHost: x\r\n").state, State::kMore);
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(FrameOf(get + "GET /next").head_bytes, get.size());
  const std::string post = "POST / HTTP/1.1\r\ncontent-LENGTH : 4\r\n\r\n";
  EXPECT_EQ(FrameOf(post + "123").state, State::kMore);
  EXPECT_EQ(FrameOf(post + "1234").state, State::kWhole);
  EXPECT_EQ(FrameOf(post + "12345").body_bytes, 4u);
}

TEST(FrameTest, WhatIsNoRequestIsRefusedAtItsFirstByte) {
  EXPECT_EQ(FrameOf("\x16\x03\x01").status, 400);  // TLS
  EXPECT_EQ(FrameOf(std::string(1, '\0')).status, 400);
  EXPECT_EQ(FrameOf("\r\n").status, 400);
}

TEST(FrameTest, TwoLengthsOrAnEncodingAreRefused) {
  const std::string post = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(FrameOf(post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n").status, 400);
  EXPECT_EQ(FrameOf(post + "Content-Length: -1\r\n\r\n").status, 400);
  EXPECT_EQ(FrameOf(post + "Content-Length: 99999999999999999999\r\n\r\n").status, 400);
  EXPECT_EQ(FrameOf(post + "Transfer-Encoding: chunked\r\n\r\n").status, 411);
  EXPECT_EQ(FrameOf(post + "Content-Length: 1000000\r\n\r\n").status, 413);
}

TEST(FrameTest, HeadWithoutEndIsRefusedWhenItIsTooLarge) {
  std::string head = "GET / HTTP/1.1\r\n";
  while (head.size() < kMostHeadBytes - 1) head += 'x';
  EXPECT_EQ(FrameOf(head).state, State::kMore);
  EXPECT_EQ(FrameOf(head + "x").status, 431);
}

TEST(HttpTest, RequestArrivesInItsParts) {
  Request seen;
  std::string body;
  Ask("POST /a%20b?process=x%2By&n=1 HTTP/1.1\r\nHost: localhost:6060\r\n"
      "Authorization: Bearer abc\r\nContent-Length: 3\r\n\r\n0x1",
      [&](const Request& request) {
        seen = request;
        body = request.body;
        return Hello(request);
      });
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.query, "process=x%2By&n=1");
  ASSERT_NE(seen.Find("process"), nullptr);
  EXPECT_EQ(*seen.Find("process"), "x+y");
  EXPECT_EQ(seen.Find("absent"), nullptr);
  EXPECT_EQ(seen.host, "localhost:6060");
  EXPECT_EQ(seen.authorization, "Bearer abc");
  EXPECT_EQ(body, "0x1");
}

TEST(HttpTest, ResponseHasTheLengthOfItsBody) {
  const Response response = Ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Hello);
  EXPECT_EQ(response.head.rfind("HTTP/1.1 200 OK\r\n", 0), 0u) << response.head;
  EXPECT_TRUE(Has(response, "Content-Length: 6")) << response.head;
  EXPECT_EQ(response.head.substr(response.head.size() - 4), "\r\n\r\n");
  EXPECT_EQ(BodyOf(response), "hello\n");
  EXPECT_FALSE(response.close);
}

TEST(HttpTest, ResponseWithoutABodySaysSo) {
  const Response response = Ask("GET / HTTP/1.1\r\n\r\n", [](const Request&) {
    return Reply{204, "", nullptr, {}};
  });
  EXPECT_TRUE(Has(response, "Content-Length: 0")) << response.head;
}

TEST(HttpTest, HeadHasNoBodyButItsLength) {
  const Response response = Ask("HEAD / HTTP/1.1\r\n\r\n", Hello);
  EXPECT_TRUE(Has(response, "Content-Length: 6")) << response.head;
  EXPECT_EQ(BodyOf(response), "");
}

TEST(HttpTest, ConnectionEndsWhereTheClientOrTheServerSaysSo) {
  EXPECT_TRUE(Ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", Hello).close);
  EXPECT_TRUE(Ask("GET / HTTP/1.0\r\n\r\n", Hello).close);
  EXPECT_TRUE(Ask("GET / HTTP/1.1\r\n\r\n", Hello, true).close);
}

// A hundred ranges of a profile would be a hundred profiles.
TEST(HttpTest, RangesAreNotServed) {
  std::string ranges = "bytes=0-1";
  while (ranges.size() < 7000) ranges += ",0-5";
  const Response response = Ask("GET / HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n", Hello);
  EXPECT_EQ(response.head.rfind("HTTP/1.1 200 ", 0), 0u) << response.head;
  EXPECT_EQ(BodyOf(response), "hello\n");
}

TEST(HttpTest, WhatTheLibraryCannotReadEndsTheConnection) {
  bool is_asked = false;
  const Response response = Ask("GET\r\n\r\n", [&](const Request& request) {
    is_asked = true;
    return Hello(request);
  });
  EXPECT_FALSE(is_asked);
  EXPECT_TRUE(response.close);
}

// The library matches some headers by std::regex, whose recursion grows with the text.
TEST(HttpTest, LongHeadersOfAllKinds) {
  for (const std::string name :
       {"Range", "Content-Type", "Accept-Encoding", "Host", "Connection"}) {
    for (const std::string unit : {"bytes=0-", "1,", "; boundary=x", "-", "9"}) {
      std::string value = name == "Range" ? "bytes=0-1" : "";
      while (value.size() + unit.size() < kMostHeadBytes - 200) value += unit;
      int answers = 0;
      const Response response =
          Ask("GET / HTTP/1.1\r\n" + name + ": " + value + "\r\n\r\n", [&](const Request& request) {
            ++answers;
            return Hello(request);
          });
      EXPECT_TRUE(answers == 1 || (answers == 0 && response.close)) << name << " " << unit;
      EXPECT_EQ(response.head.rfind("HTTP/1.1 ", 0), 0u) << name << " " << unit;
    }
  }
}

TEST(HttpTest, TextOfARequestCannotWriteHeaders) {
  const Response response =
      Ask("GET /%0d%0aX-Bad:%201 HTTP/1.1\r\n\r\n",
          [](const Request& request) { return TextReply(404, "no page " + request.path); });
  EXPECT_EQ(response.head.find("X-Bad"), std::string::npos);
}

}  // namespace
}  // namespace allomon::serve
