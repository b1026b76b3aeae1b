#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/bounded_work.h"
#include "tools/serve/pusher.h"
#include "tools/serve/shared_replies.h"
#include "tools/serve/workers.h"

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

// ---- What is pushed to a collector

SharedText Text(const std::string& text) { return std::make_shared<const std::string>(text); }

TEST(PushQueueTest, OldestIsDropped) {
  PushQueue queue({3, 10});
  EXPECT_EQ(queue.Add(Text("1111")), 0u);
  EXPECT_EQ(queue.Add(Text("2222")), 0u);
  EXPECT_EQ(queue.Add(Text("33")), 0u);
  EXPECT_EQ(queue.Add(Text("4")), 1u) << "of requests there may be three";
  EXPECT_EQ(queue.Add(Text("55555555")), 2u) << "of bytes ten";
  EXPECT_EQ(queue.bytes(), 9u);
  EXPECT_EQ(queue.Add(Text(std::string(11, 'x'))), 1u) << "that one itself";
  const SharedText first = queue.Take();
  EXPECT_EQ(*first, "4");
  EXPECT_EQ(queue.PutBack(first), 0u);
  EXPECT_EQ(*queue.Take(), "4");
  EXPECT_EQ(queue.Add(Text("66")), 0u);
  EXPECT_EQ(queue.PutBack(first), 1u) << "newer ones have its room";
  EXPECT_EQ(*queue.Take(), "55555555");
  EXPECT_EQ(*queue.Take(), "66");
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

// A collector that answers what it is told, and a process that has a request for each look.
class PusherTest : public ::testing::Test {
 protected:
  using Answers = std::function<PushResult(size_t number)>;

  static PushResult Status(int status, double retry_after_seconds = -1) {
    PushResult result;
    result.status = status;
    result.message = "status " + std::to_string(status);
    result.retry_after_seconds = retry_after_seconds;
    return result;
  }

  std::unique_ptr<Pusher> Begin(Answers answers, milliseconds interval = milliseconds(5),
                                QueueLimits limits = QueueLimits()) {
    PushWork work;
    work.look = [this](const std::atomic<bool>*) {
      return std::vector<SharedText>{Text(std::to_string(++looks_))};
    };
    work.post = [this, answers](const SharedText& body, const std::atomic<bool>*) {
      times_.push_back(Clock::now());
      bodies_.push_back(*body);
      return answers(bodies_.size());
    };
    work.say = [this](const std::string& line) { lines_.push_back(line); };
    PushTimes times;
    times.interval = interval;
    times.first_wait = milliseconds(20);
    times.most_wait = milliseconds(80);
    times.at_end = milliseconds(300);
    return std::make_unique<Pusher>(std::move(work), times, limits, &counts_);
  }

  static void WaitFor(const std::function<bool()>& is_true) {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while (!is_true() && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(is_true());
  }

  PushCounts counts_;
  std::atomic<size_t> looks_{0};
  std::vector<std::string> bodies_, lines_;  // read when the pusher has ended
  std::vector<Clock::time_point> times_;
};

TEST_F(PusherTest, EachLookIsPushedOnceAndInOrder) {
  auto pusher = Begin([](size_t) { return Status(200); });
  WaitFor([&] { return counts_.taken >= 5; });
  pusher.reset();
  EXPECT_EQ(bodies_.size(), looks_) << "the last look, at the end, is pushed, too";
  for (size_t i = 0; i < bodies_.size(); ++i) EXPECT_EQ(bodies_[i], std::to_string(i + 1));
  EXPECT_TRUE(lines_.empty());
  EXPECT_EQ(counts_.taken, bodies_.size());
  EXPECT_GT(counts_.last_taken_unix_seconds, 0);
}

TEST_F(PusherTest, WaitsLongerAfterEachFailureAndSaysItOnce) {
  auto pusher =
      Begin([](size_t number) { return Status(number <= 4 ? 503 : 200); }, milliseconds(10'000));
  WaitFor([&] { return counts_.taken >= 1; });
  pusher.reset();
  ASSERT_GE(bodies_.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(bodies_[i], "1");
  // At least half of 20, 40, 80 and 80 ms.
  const int least[] = {10, 20, 40, 40};
  for (size_t i = 0; i < 4; ++i) EXPECT_GE(times_[i + 1] - times_[i], milliseconds(least[i])) << i;
  EXPECT_EQ(lines_,
            (std::vector<std::string>{"status 503; trying again", "the collector answers again"}));
  EXPECT_EQ(counts_.retries, 4u);
  EXPECT_EQ(counts_.dropped, 0u);
}

TEST_F(PusherTest, WaitsAsLongAsItIsAsked) {
  auto pusher = Begin([](size_t number) { return number == 1 ? Status(429, 0.25) : Status(200); },
                      milliseconds(10'000));
  WaitFor([&] { return counts_.taken >= 1; });
  pusher.reset();
  EXPECT_GE(times_.at(1) - times_.at(0), milliseconds(250));
}

TEST_F(PusherTest, RefusedOnesAreNotSentAgain) {
  auto pusher = Begin([](size_t number) { return Status(number % 2 == 1 ? 400 : 500); });
  WaitFor([&] { return counts_.refused >= 4; });
  pusher.reset();
  for (size_t i = 0; i < bodies_.size(); ++i) EXPECT_EQ(bodies_[i], std::to_string(i + 1));
  EXPECT_EQ(lines_.at(0), "the collector refuses: status 400");
  EXPECT_EQ(counts_.taken + counts_.retries, 0u);
}

TEST_F(PusherTest, FullQueueDropsTheOldestAndSaysItOnce) {
  std::atomic<bool> is_back{false};
  auto pusher = Begin([&](size_t) { return Status(is_back ? 200 : 0); }, milliseconds(5), {3, 100});
  WaitFor([&] { return counts_.dropped >= 4; });
  is_back = true;
  WaitFor([&] { return counts_.taken >= 3; });
  pusher.reset();
  EXPECT_EQ(counts_.taken + counts_.dropped, looks_);
  const std::string full = "the queue is full: the oldest requests are dropped";
  const auto said = std::count(lines_.begin(), lines_.end(), full);
  EXPECT_GE(said, 1);
  EXPECT_LT(said, static_cast<ptrdiff_t>(counts_.dropped));
  EXPECT_TRUE(std::any_of(lines_.begin(), lines_.end(), [](const std::string& line) {
    return line.find(" were dropped meanwhile") != line.npos;
  }));
}

TEST_F(PusherTest, EndsInTimeAndSaysWhatIsLost) {
  auto pusher = Begin([](size_t) { return Status(0); }, milliseconds(10'000));
  WaitFor([&] { return counts_.retries >= 1; });
  const auto begin = Clock::now();
  pusher.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30)) << "not the interval";
  EXPECT_EQ(lines_.back(), "2 requests that the collector did not take are lost at the end");
  EXPECT_EQ(counts_.dropped, 2u);
}

// A post that never ends by itself stops neither looks nor the end.
TEST_F(PusherTest, HangingCollectorHoldsNothingUp) {
  PushWork work;
  work.look = [this](const std::atomic<bool>*) {
    return std::vector<SharedText>{Text(std::to_string(++looks_))};
  };
  work.post = [](const SharedText&, const std::atomic<bool>* is_cancelled) -> PushResult {
    while (!*is_cancelled) std::this_thread::sleep_for(milliseconds(1));
    throw Cancelled();
  };
  work.say = [this](const std::string& line) { lines_.push_back(line); };
  PushTimes times;
  times.interval = milliseconds(5);
  times.at_end = milliseconds(100);
  auto pusher = std::make_unique<Pusher>(std::move(work), times, QueueLimits(), &counts_);
  WaitFor([&] { return looks_ >= 5; });
  pusher.reset();
  EXPECT_EQ(counts_.dropped, looks_);
}

// Nobody takes the answers.  Each thread may be making one when the bound is reached.
TEST(Workers, AnswersThatAreNotTakenAreBounded) {
  constexpr size_t kBytes = size_t{1} << 20;
  constexpr int kThreads = 3;
  constexpr int kJobs = 100;
  std::atomic<int> made{0};
  Workers workers(kThreads, 4 * kBytes, [&](const Request&) {
    ++made;
    Reply reply = TextReply(200, "");
    reply.body = std::make_shared<std::string>(kBytes, 'x');
    return reply;
  });
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  for (int i = 1; i <= kJobs; ++i) {
    workers.Add({static_cast<uint64_t>(i), request, request.size(), false, i % 2 == 0});
  }
  std::this_thread::sleep_for(milliseconds(100));
  // The thread for quick requests is one more.
  EXPECT_GE(made, 4);
  EXPECT_LE(made, 4 + kThreads + 1);
  size_t taken = 0;
  for (const auto until = Clock::now() + std::chrono::seconds(30);
       taken < kJobs && Clock::now() < until;) {
    taken += workers.TakeDone().size();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(taken, size_t{kJobs});
}

}  // namespace
}  // namespace allomon::serve
