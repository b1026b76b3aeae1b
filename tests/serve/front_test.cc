// Clients that are slow, numerous or send without end take neither memory nor time from others.
#include "tools/serve/front.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitizers.h"
#include "tools/serve/address.h"

// The address sanitizer would keep 256 MiB of freed memory, beside which bounds say little.  Other
// programs do not call this.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }  // NOLINT

namespace allomon::serve {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr char kGet[] = "GET /small HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
constexpr char kGetLarge[] = "GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
constexpr size_t kLargeBytes = size_t{8} << 20;

// Clients wait at most this long, also under a sanitizer.
constexpr int kPatienceMilliseconds = 30'000;

class Client {
 public:
  explicit Client(const Address& address) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.port)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return is_connected_; }

  // Resets the connection instead of closing it.
  void TearDown() {
    const linger now = {1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }

  // Returns false if the server does not accept the text.
  bool Send(const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }

  // Returns some available text; empty at the end, or when the patience is exhausted.
  std::string Receive() {
    pollfd polled = {fd_, POLLIN, 0};
    if (poll(&polled, 1, kPatienceMilliseconds) <= 0) return "";
    char chunk[65536];
    const ssize_t got = recv(fd_, chunk, sizeof chunk, 0);
    return got <= 0 ? "" : std::string(chunk, static_cast<size_t>(got));
  }

  // Receives until the text contains `end`, or to its end.
  std::string ReceiveUntil(const std::string& end) {
    std::string all;
    while (all.find(end) == std::string::npos) {
      const std::string more = Receive();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }

  // Whether the server ends the connection.
  bool Ends() {
    while (!Receive().empty()) {
    }
    pollfd polled = {fd_, POLLIN, 0};
    return poll(&polled, 1, 0) > 0;
  }

 private:
  const int fd_;
  bool is_connected_ = false;
};

// A server in this process.
class Served {
 public:
  explicit Served(const FrontLimits& limits) : stop_(eventfd(0, EFD_CLOEXEC)) {
    const auto listening = Listen(*ParseAddress("127.0.0.1:0"));
    EXPECT_TRUE(listening.ok()) << listening.status();
    address_ = AddressOf(*listening);
    front_ = std::make_unique<Front>(*listening, limits,
                                     [this](const Request& request) { return Get(request); });
    thread_ = std::thread([this] { front_->Run(stop_); });
  }
  ~Served() {
    Release();
    const uint64_t one = 1;
    EXPECT_EQ(write(stop_, &one, sizeof one), 8);
    thread_.join();
    front_.reset();
    close(stop_);
  }

  const Address& address() const { return address_; }
  int answers() const { return answers_; }
  int cancelled() const { return cancelled_; }
  void Release() { is_held_ = false; }
  void Hold() { is_held_ = true; }

  // Whether the server answers a new request now.
  bool Answers() {
    Client client(address_);
    return client.Send(kGet) && client.ReceiveUntil("small\n").find("200 OK") != std::string::npos;
  }

 private:
  Reply Get(const Request& request) {
    ++answers_;
    if (request.path == "/throw") throw std::bad_alloc();
    while (is_held_ && request.path == "/held") {
      if (request.is_cancelled->load()) {
        ++cancelled_;
        break;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    Reply reply = TextReply(200, "small");
    if (request.path == "/large") reply.body = large_;
    if (request.path == "/own") reply.body = std::make_shared<std::string>(kLargeBytes, 'x');
    return reply;
  }

  const SharedText large_ = std::make_shared<const std::string>(kLargeBytes, 'x');
  const int stop_;
  Address address_;
  std::atomic<int> answers_{0};
  std::atomic<int> cancelled_{0};
  std::atomic<bool> is_held_{false};
  std::unique_ptr<Front> front_;
  std::thread thread_;
};

FrontLimits Quick() {
  FrontLimits limits;
  limits.request_time = milliseconds(300);
  limits.idle_time = milliseconds(300);
  limits.send_time = milliseconds(300);
  limits.closed_time = milliseconds(300);
  return limits;
}

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Resets the process's peak of resident memory.
void ForgetMostResident() { std::ofstream("/proc/self/clear_refs") << "5"; }
size_t MostResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoull(line.substr(6)) << 10;
  }
  return 0;
}

TEST(FrontTest, ConnectionIsKeptForMoreRequests) {
  Served served{FrontLimits()};
  Client client(served.address());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(client.Send(kGet));
    ASSERT_NE(client.ReceiveUntil("small\n").find("Content-Length: 6"), std::string::npos);
  }
}

TEST(FrontTest, RequestsThatComeAtOnceAreAnsweredInTheirOrder) {
  Served served{FrontLimits()};
  Client client(served.address());
  ASSERT_TRUE(client.Send(std::string(kGetLarge) + kGet));
  const std::string all = client.ReceiveUntil("small\n");
  EXPECT_GT(all.size(), kLargeBytes);
  EXPECT_EQ(all.substr(all.size() - 6), "small\n");
}

TEST(FrontTest, RequestThatComesByteByByteIsAnswered) {
  Served served{FrontLimits()};
  Client client(served.address());
  for (const char c : std::string(kGet)) ASSERT_TRUE(client.Send(std::string(1, c)));
  EXPECT_NE(client.ReceiveUntil("small\n").find("200 OK"), std::string::npos);
}

TEST(FrontTest, ClientThatHasSentAllMayCloseItsSide) {
  Served served{FrontLimits()};
  Client client(served.address());
  served.Hold();
  ASSERT_TRUE(client.Send("GET /held HTTP/1.0\r\n\r\n"));
  client.EndSending();
  std::this_thread::sleep_for(milliseconds(100));
  served.Release();
  EXPECT_NE(client.ReceiveUntil("small\n").find("200 OK"), std::string::npos);
  EXPECT_TRUE(client.Ends());
}

TEST(FrontTest, AnswerIsNotMadeForAClientThatHasGone) {
  for (const bool is_torn_down : {false, true}) {
    Served served(Quick());
    served.Hold();
    {
      Client client(served.address());
      if (is_torn_down) client.TearDown();
      ASSERT_TRUE(client.Send("GET /held HTTP/1.1\r\n\r\n"));
      while (served.answers() == 0) std::this_thread::sleep_for(milliseconds(1));
    }
    const auto begin = Clock::now();
    while (served.cancelled() == 0 && SecondsSince(begin) < kPatienceMilliseconds / 1e3) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(served.cancelled(), 1) << is_torn_down;
  }
}

TEST(FrontTest, QuickRequestsDoNotWaitForOthers) {
  FrontLimits limits;
  limits.is_quick = [](std::string_view request) { return request.substr(0, 10) == "GET /small"; };
  Served served(limits);
  served.Hold();
  std::vector<std::unique_ptr<Client>> waiting;
  for (int i = 0; i < 6; ++i) {
    waiting.push_back(std::make_unique<Client>(served.address()));
    ASSERT_TRUE(waiting.back()->Send("GET /held HTTP/1.1\r\n\r\n"));
  }
  while (served.answers() < 2) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(served.Answers());
}

TEST(FrontTest, ClientThatSendsNothingIsCutOff) {
  Served served(Quick());
  Client client(served.address());
  const auto begin = Clock::now();
  EXPECT_TRUE(client.Ends());
  EXPECT_GE(SecondsSince(begin), 0.25);
}

TEST(FrontTest, ClientThatDripsIsCutOffAlthoughItGoesOn) {
  Served served(Quick());
  Client client(served.address());
  const auto begin = Clock::now();
  size_t sent = 0;
  while (client.Send("G") && SecondsSince(begin) < kPatienceMilliseconds / 1e3) {
    ++sent;
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_LT(SecondsSince(begin), kPatienceMilliseconds / 1e3);
  EXPECT_GT(sent, 2u);
}

TEST(FrontTest, IdleConnectionEndsAfterItsTime) {
  Served served(Quick());
  Client client(served.address());
  ASSERT_TRUE(client.Send(kGet));
  client.ReceiveUntil("small\n");
  EXPECT_TRUE(client.Ends());
}

TEST(FrontTest, ClientThatTakesNothingIsCutOff) {
  Served served(Quick());
  Client client(served.address());
  ASSERT_TRUE(client.Send(kGetLarge));
  std::this_thread::sleep_for(milliseconds(1500));
  size_t got = 0;
  for (std::string more = client.Receive(); !more.empty(); more = client.Receive()) {
    got += more.size();
  }
  EXPECT_LT(got, kLargeBytes);
  EXPECT_TRUE(served.Answers());
}

TEST(FrontTest, BytesWithoutEndAreRefusedEarly) {
  Served served{FrontLimits()};
  Client client(served.address());
  const std::string chunk(65536, 'A');
  size_t sent = 0;
  while (client.Send(chunk) && sent < (size_t{1} << 30)) sent += chunk.size();
  EXPECT_LT(sent, size_t{64} << 20);
  EXPECT_TRUE(served.Answers());
}

TEST(FrontTest, RefusalReachesTheClient) {
  Served served{FrontLimits()};
  Client client(served.address());
  client.Send(std::string(20000, 'A'));
  EXPECT_EQ(client.ReceiveUntil("\r\n\r\n").rfind("HTTP/1.1 431 ", 0), 0u);
}

TEST(FrontTest, WhatThrowsIsAStatus) {
  Served served{FrontLimits()};
  Client client(served.address());
  ASSERT_TRUE(client.Send("GET /throw HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(client.ReceiveUntil("\r\n\r\n").rfind("HTTP/1.1 500 ", 0), 0u);
}

TEST(FrontTest, OneMoreThanThereMayBeEndsTheOneThatWaitsLongest) {
  FrontLimits limits;
  limits.connections = 4;
  Served served(limits);
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<Client>(served.address()));
    ASSERT_TRUE(silent.back()->is_connected());
    ASSERT_TRUE(served.Answers()) << i;
  }
  EXPECT_TRUE(silent.front()->Ends());
}

TEST(FrontTest, ClientsThatAreGoneAreNotAnswered) {
  Served served{FrontLimits()};
  served.Hold();
  {
    std::vector<std::unique_ptr<Client>> gone;
    for (int i = 0; i < 50; ++i) {
      gone.push_back(std::make_unique<Client>(served.address()));
      gone.back()->TearDown();
      ASSERT_TRUE(gone.back()->Send("GET /held HTTP/1.1\r\n\r\n"));
    }
    std::this_thread::sleep_for(milliseconds(500));
  }
  std::this_thread::sleep_for(milliseconds(500));
  served.Release();
  ASSERT_TRUE(served.Answers());
  EXPECT_LT(served.answers(), 20);
}

// This process has both ends of a thousand connections.
void AllowDescriptors() {
  constexpr rlim_t kDescriptors = 4096;
  rlimit files;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::max(files.rlim_cur, std::min(files.rlim_max, kDescriptors));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_cur < 2500) GTEST_SKIP() << "the hard limit of descriptors is " << files.rlim_max;
}

TEST(FrontTest, SilentThousandDoesNotKeepOthersWaiting) {
  AllowDescriptors();
  if (IsSkipped()) return;
  Served served{FrontLimits()};
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_unique<Client>(served.address()));
    ASSERT_TRUE(clients.back()->is_connected()) << i;
  }
  const auto begin = Clock::now();
  EXPECT_TRUE(served.Answers());
  EXPECT_LT(SecondsSince(begin), 5);
  for (auto& client : clients) ASSERT_TRUE(client->Send(kGet));
  for (auto& client : clients) {
    ASSERT_NE(client->ReceiveUntil("small\n").find("200 OK"), std::string::npos);
  }
}

TEST(FrontTest, SharedResponseIsThereOnceForAThousandClients) {
  AllowDescriptors();
  if (IsSkipped()) return;
  Served served{FrontLimits()};
  ForgetMostResident();
  const size_t before = MostResidentBytes();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_unique<Client>(served.address()));
    ASSERT_TRUE(clients.back()->Send(kGetLarge));
  }
  ASSERT_TRUE(served.Answers());
  // The sockets' buffers belong to the kernel.
  EXPECT_LT(MostResidentBytes(), before + (size_t{200} << 20));
}

TEST(FrontTest, ResponsesThatNobodyTakesAreBounded) {
  FrontLimits limits;
  limits.unsent_bytes = 2 * kLargeBytes;
  Served served(limits);
  ForgetMostResident();
  const size_t before = MostResidentBytes();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(served.address()));
    ASSERT_TRUE(clients.back()->Send("GET /own HTTP/1.1\r\n\r\n"));
  }
  while (served.answers() < 100) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(served.Answers());
  // The thread sanitizer keeps four bytes beside each one that the server has touched.
  const size_t most_mib = testing::kHasThreadSanitizer ? 400 : 200;
  EXPECT_LT(MostResidentBytes(), before + (most_mib << 20));
}

// The sum of all requests is many times the memory that the server may use.
TEST(FrontTest, GigabytesTakeNoMemory) {
  Served served{FrontLimits()};
  ASSERT_TRUE(served.Answers());
  ForgetMostResident();
  const size_t before = MostResidentBytes();
  const std::string head = "POST /small HTTP/1.1\r\nContent-Length: 16000\r\n\r\n";
  const std::string post = head + std::string(16000, 'x');
  constexpr int kPosts = 16'000;
  size_t sent = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Client client(served.address());
      for (int k = 0; k < kPosts; ++k) {
        ASSERT_TRUE(client.Send(post));
        ASSERT_NE(client.ReceiveUntil("small\n"), "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  sent = 4 * kPosts * post.size();
  EXPECT_GT(sent, size_t{900} << 20);
  EXPECT_LT(MostResidentBytes(), before + (size_t{100} << 20));
}

TEST(FrontTest, RandomBytesAtThePort) {
  Served served(Quick());
  std::minstd_rand random(20261122);
  for (int i = 0; i < 500; ++i) {
    Client client(served.address());
    std::string text = i % 3 == 0 ? "GET /small HTTP/1.1\r\n" : "";
    for (size_t length = random() % 3000; length > 0; --length) {
      text += static_cast<char>(random() % (i % 2 == 0 ? 256 : 96));
    }
    if (i % 5 == 0) text += "\r\n\r\n";
    client.Send(text);
    if (i % 7 == 0) client.Receive();
  }
  EXPECT_TRUE(served.Answers());
}

}  // namespace
}  // namespace allomon::serve
