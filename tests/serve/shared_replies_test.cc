// Concurrent equal requests share one reply, which is computed again after a second.
#include "tools/serve/shared_replies.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

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
