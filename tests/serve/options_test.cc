// Command lines, addresses and tokens: each error is one line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tools/serve/address.h"
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
  EXPECT_EQ(options->debug_dir, "/d");
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
