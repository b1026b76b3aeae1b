#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/bounded_work.h"
#include "tools/serve/shared_replies.h"

namespace allomon::serve {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Reply Make(const std::function<Reply()>& make, const WorkLimits& limits = WorkLimits()) {
  return MakeBounded(make, limits, nullptr);
}

bool HasNoChildren() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

[[noreturn]] Reply WaitForEver() {
  for (;;) pause();
}

TEST(BoundedWork, ReplyComesWhole) {
  std::string body(1 << 20, 'x');
  body[7] = '\0';
  const Reply reply = Make([&] {
    Reply made = ReplyOf(body, "a/b");
    made.status = 404;
    made.headers = {{"Refresh", "5"}, {"X", ""}};
    return made;
  });
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.type, "a/b");
  EXPECT_EQ(*reply.body, body);
  EXPECT_EQ(reply.headers.size(), 2u);
  EXPECT_EQ(reply.headers[0].second, "5");
  EXPECT_TRUE(HasNoChildren());
}

// A sanitizer that is refused memory does not throw; it ends the process, or hangs.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(BoundedWork, MemoryIsBounded) {
  WorkLimits limits;
  limits.memory_bytes = size_t{64} << 20;
  const Reply reply = Make(
      [] {
        std::vector<std::string> kept;
        for (int i = 0; i < 200; ++i) kept.emplace_back(size_t{1} << 20, 'x');
        return TextReply(200, "all");
      },
      limits);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body->find("needs more than 64 MiB"), std::string::npos) << *reply.body;
}
#endif

TEST(BoundedWork, TimeIsBounded) {
  WorkLimits limits;
  limits.time = milliseconds(200);
  const Reply reply = Make(WaitForEver, limits);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body->find("takes more than 1 s"), std::string::npos) << *reply.body;
  EXPECT_TRUE(HasNoChildren());
}

TEST(BoundedWork, AnEndIsAReply) {
  const Reply reply = Make([] {
    raise(SIGKILL);
    return Reply();
  });
  EXPECT_EQ(reply.status, 500);
  EXPECT_NE(reply.body->find("signal 9"), std::string::npos) << *reply.body;
  EXPECT_EQ(Make([]() -> Reply { throw std::exception(); }).status, 500);
}

TEST(BoundedWork, CancellingEndsTheProcess) {
  std::atomic<bool> is_cancelled{false};
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(100));
    is_cancelled = true;
  });
  const auto begun = Clock::now();
  EXPECT_THROW(MakeBounded(WaitForEver, WorkLimits(), &is_cancelled), Cancelled);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(30));
  other.join();
  EXPECT_TRUE(HasNoChildren());
}

TEST(BoundedWork, TheProcessHasNoneOfTheDescriptors) {
  const int open = dup(0);
  const Reply reply = Make([] {
    std::string names;
    DIR* const folder = opendir("/proc/self/fd");
    int count = 0;
    while (const dirent* const entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(folder);
    return TextReply(200, std::to_string(count));
  });
  close(open);
  EXPECT_EQ(*reply.body, "5\n");  // three, the pipe and the folder
}

}  // namespace
}  // namespace allomon::serve

// Concurrent equal requests share one reply, which is computed again after a second.

namespace allomon::serve {
namespace {

TEST(SharedRepliesTest, ThousandRequestsAtOnceAreOneReply) {
  SharedReplies replies;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 125; ++k) {
        const Reply reply = replies.Get("key", [&] {
          ++made;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          return TextReply(200, "x");
        });
        EXPECT_EQ(*reply.body, "x\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(made, 3);  // one, unless the machine is slow
}

TEST(SharedRepliesTest, ReplyIsMadeAnewAfterItsTime) {
  SharedReplies replies;
  int made = 0;
  const auto make = [&made] { return TextReply(200, std::to_string(++made)); };
  EXPECT_EQ(*replies.Get("key", make).body, "1\n");
  std::this_thread::sleep_for(SharedReplies::kFresh + std::chrono::milliseconds(50));
  EXPECT_EQ(*replies.Get("key", make).body, "2\n");
  EXPECT_EQ(*replies.Get("other", make).body, "3\n");
}

TEST(SharedRepliesTest, WhatThrowsIsTriedAgain) {
  SharedReplies replies;
  const auto fail = []() -> Reply { throw std::runtime_error("no memory"); };
  EXPECT_THROW(replies.Get("key", fail), std::runtime_error);
  EXPECT_EQ(*replies.Get("key", [] { return TextReply(200, "x"); }).body, "x\n");
}

TEST(SharedRepliesTest, FewAreKept) {
  SharedReplies replies;
  std::vector<std::weak_ptr<const std::string>> bodies;
  for (int i = 0; i < 1000; ++i) {
    bodies.push_back(replies.Get(std::to_string(i), [] { return TextReply(200, "x"); }).body);
  }
  size_t kept = 0;
  for (const auto& body : bodies) kept += !body.expired();
  EXPECT_LE(kept, SharedReplies::kMost);
}

}  // namespace
}  // namespace allomon::serve
