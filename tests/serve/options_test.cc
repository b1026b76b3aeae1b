// Command lines, addresses, tokens, and what is known of collectors: each error is one line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tools/serve/address.h"
#include "tools/serve/push_endpoint.h"
#include "tools/serve/push_post.h"
#include "tools/serve/serve.h"
#include "tools/serve/token.h"

namespace allomon::serve {
namespace {

std::string ErrorOf(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  return options.ok() ? "" : std::string(options.status().message());
}

void ExpectError(const std::vector<std::string>& args, const std::string& part) {
  EXPECT_NE(ErrorOf(args).find(part), std::string::npos) << ErrorOf(args);
}

TEST(ServeOptionsTest, WhatIsGivenArrives) {
  const auto options = ParseOptions({"--listen", "[::1]:1", "--pid=7", "--every=8k",
                                     "--all-children", "--token-file=t", "--debug-dir=/d"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->listen, "[::1]:1");
  EXPECT_EQ(options->pid, 7u);
  EXPECT_EQ(options->rate.samples_per_word, 8.0 / 8192);
  EXPECT_TRUE(options->all_children);
  EXPECT_EQ(options->token_file, "t");
  EXPECT_EQ(options->name_sources.debug_dir, "/d");
}

TEST(ServeOptionsTest, WhatDoesNotGoTogetherIsOneLine) {
  ExpectError({"--pid=7", "--dir=x"}, "not both");
  ExpectError({"--all-children"}, "--pid");
  ExpectError({"--rate=1"}, "--pid");
  ExpectError({"--pid=7", "--exact", "--every=8k"}, "--exact and --every: choose one");
  ExpectError({"--token=abcdefghijklmnop", "--token-file=x"}, "not both");
  ExpectError({"--pid=0"}, "the id of a process");
  ExpectError({"--pid=-1"}, "the id of a process");
  ExpectError({"--pid=99999999999"}, "the id of a process");
  ExpectError({"--dir="}, "--dir needs a value");
  ExpectError({"folder"}, "--dir");
  ExpectError({"--port=1"}, "unknown option");
  ExpectError({"--listen"}, "needs a value");
}

TEST(ServeOptionsTest, Interval) {
  const auto seconds_of = [](const std::string& text) {
    const auto options = ParseOptions({"--otlp=http://x", "--interval=" + text});
    return options.ok() ? options->interval_seconds : 0;
  };
  EXPECT_EQ(seconds_of("60s"), 60u);
  EXPECT_EQ(seconds_of("7"), 7u);
  EXPECT_EQ(seconds_of("5m"), 300u);
  EXPECT_EQ(seconds_of("24h"), 86'400u);
  for (const char* const bad : {"", "0", "0s", "s", "-1", "1.5s", "25h", "1441m", "1d", "5 m",
                                "4294967297s", "99999999999h"}) {
    EXPECT_EQ(seconds_of(bad), 0u) << bad;
  }
  ExpectError({"--interval=5s"}, "--interval goes with --otlp");
  ExpectError({"--otlp=http://x", "--interval=5x"}, "a time from 1s to 24h");
}

// ---- Where profiles are pushed to

TEST(PushEndpointTest, UrlsHaveADefaultPath) {
  const auto url_of = [](const std::string& text) {
    const auto endpoint = ParseEndpoint(text);
    return endpoint.ok() ? endpoint->Url() : "refused";
  };
  const std::string path = "/v1development/profiles";
  EXPECT_EQ(url_of("http://127.0.0.1:4318"), "http://127.0.0.1:4318" + path);
  EXPECT_EQ(url_of("http://collector/"), "http://collector:80" + path);
  EXPECT_EQ(url_of("https://collector?key=1"), "https://collector:443" + path + "?key=1");
  EXPECT_EQ(url_of("https://[::1]:1/a/b?c"), "https://[::1]:1/a/b?c");
  for (const std::string bad :
       {"", "collector:4318", "ftp://x", "grpc://x", "http://", "http://:4318", "http://x:0",
        "http://x:65536", "http://x:", "http://x:1x", "http://[::1", "http://[]:1", "http://x/ y",
        "http://x/\r\nHost: y", "http://x/\xff", "http://x/#y"}) {
    EXPECT_EQ(url_of(bad), "refused") << bad;
  }
  const auto secret = ParseEndpoint("http://user:secret@x/");
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.status().message().find("secret"), std::string::npos);
  EXPECT_NE(secret.status().message().find("OTEL_EXPORTER_OTLP_HEADERS"), std::string::npos);
}

TEST(PushEndpointTest, HeadersAreThoseOfTheContract) {
  const auto headers = ParsePushHeaders(" api-key = a%20b%3D , x=,,y=1=2");
  ASSERT_TRUE(headers.ok());
  EXPECT_EQ(*headers, (PushHeaders{{"api-key", "a b="}, {"x", ""}, {"y", "1=2"}}));
  EXPECT_TRUE(ParsePushHeaders("")->empty());
  for (const char* const bad :
       {"secret", "=secret", "a b=secret", "a=secret%0d%0ab: c", "a=secret%", "a=secret%4",
        "a=secret%4g", "a=secret\n", "a:b=secret"}) {
    const auto refused = ParsePushHeaders(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.status().message().find("secret"), std::string::npos);
  }
}

TEST(PushResultTest, AnswersSayWhatToDo) {
  const Endpoint endpoint = *ParseEndpoint("http://x:4318");
  RawAnswer answer;
  for (const int status : {429, 502, 503, 504}) {
    answer.status = status;
    EXPECT_TRUE(ResultOf(answer, endpoint, 0).IsToRetry()) << status;
  }
  for (const int status : {100, 200, 202, 301, 400, 401, 404, 408, 413, 415, 500, 501, 505}) {
    answer.status = status;
    const PushResult result = ResultOf(answer, endpoint, 0);
    EXPECT_FALSE(result.IsToRetry()) << status;
    EXPECT_EQ(result.IsTaken(), status == 200 || status == 202) << status;
  }
  answer.status = 404;
  EXPECT_NE(ResultOf(answer, endpoint, 0).message.find("/v1development/profiles"),
            std::string::npos);
  answer.status = 400;
  answer.body = "no such\nversion";
  EXPECT_EQ(ResultOf(answer, endpoint, 0).message, "status 400: no such");
  answer.body = "\x08\x03\x12\x07no\x1b[1mgo";  // google.rpc.Status, with a terminal's sequence
  answer.type = "application/x-protobuf";
  EXPECT_EQ(ResultOf(answer, endpoint, 0).message.find('\x1b'), std::string::npos);
  EXPECT_EQ(ResultOf(answer, endpoint, 0).message.find("status 400: no"), 0u);
  answer.status = 200;
  answer.body = "\x0a\x06\x08\x02\x12\x02no";  // a partial success: 2 are rejected
  EXPECT_TRUE(ResultOf(answer, endpoint, 0).is_partial);
  EXPECT_EQ(ResultOf(answer, endpoint, 0).message, "no");
  answer.body = "\x0a\x00";
  EXPECT_FALSE(ResultOf(answer, endpoint, 0).is_partial);
  answer.body = std::string(1000, '\xff');
  EXPECT_FALSE(ResultOf(answer, endpoint, 0).is_partial);
}

TEST(PushResultTest, RetryAfterIsANumberOrADate) {
  EXPECT_EQ(RetryAfterSeconds("2", 0), 2);
  EXPECT_EQ(RetryAfterSeconds("0", 0), 0);
  EXPECT_EQ(RetryAfterSeconds("999999999", 0), 3600) << "at most an hour";
  EXPECT_EQ(RetryAfterSeconds("Thu, 01 Jan 1970 00:01:30 GMT", 60), 30);
  EXPECT_EQ(RetryAfterSeconds("Thu, 01 Jan 1970 00:00:30 GMT", 60), 0);
  for (const char* const bad : {"", "-1", "soon", "1.5", "Thu, 01 Jan 1970"}) {
    EXPECT_LT(RetryAfterSeconds(bad, 0), 0) << bad;
  }
}

TEST(AddressTest, AddressesAreNumbersAndPorts) {
  const auto text_of = [](const std::string& text) {
    const auto address = ParseAddress(text);
    return address.ok() ? address->Text() : "refused";
  };
  EXPECT_EQ(text_of("127.0.0.1:6060"), "127.0.0.1:6060");
  EXPECT_EQ(text_of("[::1]:80"), "[::1]:80");
  EXPECT_EQ(text_of("localhost:0"), "127.0.0.1:0");
  EXPECT_EQ(text_of(":6060"), "0.0.0.0:6060");
  for (const char* const bad : {"", ":", "6060", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                                "127.0.0.1:-1", "::1:6060", "[::1]", "[]:1", "[127.0.0.1]:1",
                                "example.org:80", "127.1:80", "256.0.0.1:80", "1.2.3.4:80 "}) {
    EXPECT_EQ(text_of(bad), "refused") << bad;
  }
}

TEST(AddressTest, LoopbackIsWhatNobodyElseReaches) {
  EXPECT_TRUE(IsLoopback({"127.0.0.1", "1"}));
  EXPECT_TRUE(IsLoopback({"127.9.9.9", "1"}));
  EXPECT_TRUE(IsLoopback({"::1", "1"}));
  EXPECT_FALSE(IsLoopback({"0.0.0.0", "1"}));
  EXPECT_FALSE(IsLoopback({"::", "1"}));
  EXPECT_FALSE(IsLoopback({"128.0.0.1", "1"}));
  EXPECT_FALSE(IsLoopback({"::ffff:10.0.0.1", "1"}));
}

TEST(AddressTest, PortInUseIsOneLineThatNamesIt) {
  const auto listening = Listen(*ParseAddress("127.0.0.1:0"));
  ASSERT_TRUE(listening.ok());
  const Address address = AddressOf(*listening);
  const auto again = Listen(address);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.status().message().find(address.Text()), std::string::npos);
  EXPECT_NE(again.status().message().find("--listen"), std::string::npos);
  close(*listening);
}

TEST(AddressTest, NamesOfForeignPagesAreNotLocal) {
  for (const char* const host : {"", "localhost", "LOCALHOST:6060", "127.0.0.1", "127.0.0.1:6060",
                                 "[::1]:6060", "[::1]", "192.168.0.7:80"}) {
    EXPECT_TRUE(IsLocalHost(host)) << host;
  }
  for (const char* const host : {"evil.example", "evil.example:6060", "localhost.evil.example",
                                 "127.0.0.1.evil.example:6060", ":", "[", "]", "[]:1"}) {
    EXPECT_FALSE(IsLocalHost(host)) << host;
  }
}

TEST(TokenTest, OnlyTheTokenIsAuthorized) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(IsAuthorized("Bearer " + token, token));
  EXPECT_TRUE(IsAuthorized("bearer  " + token + " ", token));
  for (const char* const header :
       {"", "Bearer", "Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcde",
        "Bearer 0123456789abcdef0", "Basic 0123456789abcdef", "0123456789abcdef"}) {
    EXPECT_FALSE(IsAuthorized(header, token)) << header;
  }
}

TEST(TokenTest, ShortOrOddTokensAreRefusedWithoutBeingShown) {
  unsetenv(kTokenVariable);
  Options options;
  EXPECT_EQ(*TokenOf(options), "");
  for (const char* const bad :
       {"secret", "with a blank in it", "\xc3\xa9t\xc3\xa9 0123456789abc"}) {
    options.token = bad;
    const auto token = TokenOf(options);
    ASSERT_FALSE(token.ok()) << bad;
    EXPECT_EQ(token.status().message().find(bad), std::string::npos);
  }
  options.token = "0123456789abcdef";
  EXPECT_EQ(*TokenOf(options), "0123456789abcdef");
}

TEST(TokenTest, EnvironmentAndFile) {
  setenv(kTokenVariable, "from-the-environment", 1);
  Options options;
  EXPECT_EQ(*TokenOf(options), "from-the-environment");
  options.token_file = "/nowhere/token";
  EXPECT_NE(TokenOf(options).status().message().find("/nowhere/token"), std::string::npos);
  options.token_file = "/dev/null";
  EXPECT_FALSE(TokenOf(options).ok());
  unsetenv(kTokenVariable);
}

}  // namespace
}  // namespace allomon::serve
