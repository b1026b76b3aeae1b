#include "tracker/base/tagged_free_list.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace allomon::internal {
namespace {

constexpr uint32_t kElements = 64;

// Links in an array.  A test can run code when a link has just been read, or just before it is
// written: between the load of the head and the exchange.
struct TestLinks {
  static constexpr uint32_t kNone = 0;

  uint32_t Next(uint32_t element) const {
    const uint32_t next = links[element].load(std::memory_order_relaxed);
    Happen();
    return next;
  }
  void SetNext(uint32_t element, uint32_t next) const {
    Happen();
    links[element].store(next, std::memory_order_relaxed);
  }
  void Happen() const {
    if (const auto once = std::exchange(meanwhile, nullptr)) once();
  }

  mutable std::atomic<uint32_t> links[kElements + 1] = {};
  mutable std::function<void()> meanwhile;
};

using List = TaggedFreeList<TestLinks>;
using Cache = ThreadFreeCache<TestLinks, 2, 3>;

std::vector<uint32_t> PopAll(List& list, const TestLinks& links) {
  std::vector<uint32_t> popped;
  // One more than the elements: a damaged list may have become a circle.
  while (popped.size() <= kElements) {
    const uint32_t element = list.Pop(links);
    if (element == TestLinks::kNone) break;
    popped.push_back(element);
  }
  return popped;
}

TEST(TaggedFreeList, LastInFirstOut) {
  TestLinks links;
  List list;
  EXPECT_EQ(list.Pop(links), TestLinks::kNone);
  for (uint32_t element : {3, 1, 2}) list.Push(links, element);
  EXPECT_EQ(PopAll(list, links), (std::vector<uint32_t>{2, 1, 3}));
}

// A pop has read that 2 follows 1.  Another thread pops both and pushes 1 back: the head is 1
// again, and 2 is in use.
TEST(TaggedFreeList, APopWhoseHeadWentAndCameBackDoesNotHandOutWhatIsInUse) {
  TestLinks links;
  List list;
  for (uint32_t element : {3, 2, 1}) list.Push(links, element);
  links.meanwhile = [&] {
    ASSERT_EQ(list.Pop(links), 1u);
    ASSERT_EQ(list.Pop(links), 2u);
    list.Push(links, 1);
  };
  EXPECT_EQ(list.Pop(links), 1u);
  EXPECT_EQ(PopAll(list, links), std::vector<uint32_t>{3});
}

TEST(TaggedFreeList, APushWhoseHeadWasTakenMeanwhileDoesNotLinkToIt) {
  TestLinks links;
  List list;
  for (uint32_t element : {3, 2, 1}) list.Push(links, element);
  links.meanwhile = [&] { ASSERT_EQ(list.Pop(links), 1u); };
  list.Push(links, 4);
  EXPECT_EQ(PopAll(list, links), (std::vector<uint32_t>{4, 2, 3}));
}

// The elements of a chain, by their links.
std::vector<uint32_t> ElementsOf(uint32_t first, uint32_t count, const TestLinks& links) {
  std::vector<uint32_t> elements;
  for (uint32_t i = 0; i < count; ++i) {
    elements.push_back(first);
    first = links.Next(first);
  }
  return elements;
}

// Returns the elements that PopChain() takes.
std::vector<uint32_t> PopChain(List& list, uint32_t most, const TestLinks& links) {
  uint32_t last = 0;
  uint32_t count = 0;
  const uint32_t first = list.PopChain(links, most, &last, &count);
  if (first == TestLinks::kNone) return {};
  const std::vector<uint32_t> elements = ElementsOf(first, count, links);
  EXPECT_EQ(elements.back(), last);
  return elements;
}

TEST(TaggedFreeList, ChainsComeAndGoAsOne) {
  TestLinks links;
  List list;
  EXPECT_TRUE(PopChain(list, 3, links).empty());
  links.links[4] = 5;
  links.links[5] = 6;
  list.Push(links, 7);
  list.PushChain(links, 4, 6);
  EXPECT_EQ(PopChain(list, 2, links), (std::vector<uint32_t>{4, 5}));
  EXPECT_EQ(PopChain(list, 3, links), (std::vector<uint32_t>{6, 7}));
  EXPECT_TRUE(PopChain(list, 1, links).empty());
}

// The pop of a chain has read that 2 follows 1.  Another thread pops both, pushes 1 back, and uses
// 2 in a chain of its own.
TEST(TaggedFreeList, APopOfAChainWhoseHeadWentAndCameBackDoesNotHandOutWhatIsInUse) {
  TestLinks links;
  List list;
  for (uint32_t element : {3, 2, 1}) list.Push(links, element);
  links.meanwhile = [&] {
    ASSERT_EQ(list.Pop(links), 1u);
    ASSERT_EQ(list.Pop(links), 2u);
    links.SetNext(2, 9);
    list.Push(links, 1);
  };
  EXPECT_EQ(PopChain(list, 4, links), (std::vector<uint32_t>{1, 3}));
  EXPECT_TRUE(PopAll(list, links).empty());
}

TEST(TaggedFreeList, APushOfAChainWhoseHeadWasTakenMeanwhileDoesNotLinkToIt) {
  TestLinks links;
  List list;
  for (uint32_t element : {3, 2, 1}) list.Push(links, element);
  links.links[4] = 5;
  links.meanwhile = [&] { ASSERT_EQ(list.Pop(links), 1u); };
  list.PushChain(links, 4, 5);
  EXPECT_EQ(PopAll(list, links), (std::vector<uint32_t>{4, 5, 2, 3}));
}

TEST(TaggedFreeList, ThreadsThatTakeChainsNeverHoldOneElementTwice) {
  TestLinks links;
  List list;
  for (uint32_t element = 1; element <= 8; ++element) list.Push(links, element);
  std::atomic<int> holders[9] = {};
  std::atomic<bool> held_twice{false};
  const auto pop_and_push = [&](uint32_t most) {
    for (int i = 0; i < 50000; ++i) {
      const std::vector<uint32_t> chain = PopChain(list, most, links);
      for (uint32_t element : chain) {
        if (holders[element].fetch_add(1) != 0) held_twice = true;
      }
      for (uint32_t element : chain) holders[element].fetch_sub(1);
      if (!chain.empty()) list.PushChain(links, chain.front(), chain.back());
    }
  };
  std::thread other(pop_and_push, 2);
  std::thread third(pop_and_push, 1);
  pop_and_push(5);
  other.join();
  third.join();
  EXPECT_FALSE(held_twice);
  EXPECT_EQ(PopAll(list, links).size(), 8u);
}

TEST(TaggedFreeList, ThreadsNeverHoldOneElementTwice) {
  TestLinks links;
  List list;
  for (uint32_t element = 1; element <= 4; ++element) list.Push(links, element);
  std::atomic<int> holders[5] = {};
  std::atomic<bool> held_twice{false};
  const auto pop_and_push = [&] {
    for (int i = 0; i < 50000; ++i) {
      const uint32_t first = list.Pop(links);
      const uint32_t second = list.Pop(links);
      for (uint32_t element : {first, second}) {
        if (element != 0 && holders[element].fetch_add(1) != 0) held_twice = true;
      }
      // Pushes them in the order in which they were taken, so that the head gets another successor.
      for (uint32_t element : {first, second}) {
        if (element == 0) continue;
        holders[element].fetch_sub(1);
        list.Push(links, element);
      }
    }
  };
  std::thread other(pop_and_push);
  std::thread third(pop_and_push);
  pop_and_push();
  other.join();
  third.join();
  EXPECT_FALSE(held_twice);
  EXPECT_EQ(PopAll(list, links).size(), 4u);
}

TEST(ThreadFreeCache, GivesEachListWhatItKeepsAndNoMore) {
  TestLinks links;
  Cache cache;
  EXPECT_EQ(cache.Pop(links, 0), TestLinks::kNone);
  for (uint32_t element : {1, 2, 3}) EXPECT_TRUE(cache.Push(links, 0, element));
  EXPECT_FALSE(cache.Push(links, 0, 4));
  EXPECT_TRUE(cache.Push(links, 1, 5));
  EXPECT_EQ(cache.Pop(links, 0), 3u);

  List list;
  cache.Drain(links, 0, list);
  EXPECT_EQ(cache.Pop(links, 0), TestLinks::kNone);
  EXPECT_EQ(PopAll(list, links), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(cache.Pop(links, 1), 5u);
}

TEST(ThreadFreeCache, SpillsTheLastAndRefillsWhatHasRoom) {
  TestLinks links;
  Cache cache;
  List list;
  for (uint32_t element : {1, 2, 3}) ASSERT_TRUE(cache.Push(links, 0, element));
  cache.Spill(links, 0, 2, list);
  EXPECT_EQ(cache.Pop(links, 0), 1u);
  cache.Spill(links, 0, 2, list);  // the cache is empty
  EXPECT_EQ(PopAll(list, links), (std::vector<uint32_t>{3, 2}));

  for (uint32_t element : {6, 5, 4}) list.Push(links, element);
  ASSERT_TRUE(cache.Push(links, 0, 1));
  cache.Refill(links, 0, 3, list);  // room for two elements
  cache.Refill(links, 0, 2, list);
  for (uint32_t element : {4, 5, 1, 0}) EXPECT_EQ(cache.Pop(links, 0), element);
  cache.Refill(links, 0, 3, list);
  cache.Refill(links, 0, 2, list);  // the list is empty
  EXPECT_EQ(cache.Pop(links, 0), 6u);
  EXPECT_EQ(cache.Pop(links, 0), TestLinks::kNone);
}

// A handler that runs at a given place of a change, and does the work of a handler's malloc and
// free.
struct Interrupted {
  static void Handle(int) {
    Interrupted& self = *instance;
    self.was_in_use = self.cache->in_use();
    self.popped = self.cache->Pop(*self.links, 0);
    self.pushed = self.cache->Push(*self.links, 0, 9);
    ++self.runs;
  }
  void RunIn(const TestLinks& test_links, Cache& test_cache) {
    instance = this;
    links = &test_links;
    cache = &test_cache;
    struct sigaction action = {};
    action.sa_handler = Handle;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    test_links.meanwhile = [] { raise(SIGUSR1); };
  }
  ~Interrupted() { sigaction(SIGUSR1, &before, nullptr); }

  static Interrupted* instance;
  const TestLinks* links = nullptr;
  Cache* cache = nullptr;
  struct sigaction before = {};
  bool was_in_use = false;
  uint32_t popped = 1000;
  bool pushed = true;
  int runs = 0;
};
Interrupted* Interrupted::instance = nullptr;

TEST(ThreadFreeCache, ASignalHandlerInTheMiddleOfAPopKeepsOut) {
  TestLinks links;
  Cache cache;
  for (uint32_t element : {1, 2}) ASSERT_TRUE(cache.Push(links, 0, element));
  Interrupted handler;
  handler.RunIn(links, cache);
  EXPECT_EQ(cache.Pop(links, 0), 2u);
  EXPECT_EQ(handler.runs, 1);
  EXPECT_TRUE(handler.was_in_use);
  EXPECT_EQ(handler.popped, TestLinks::kNone);
  EXPECT_FALSE(handler.pushed);
  EXPECT_FALSE(cache.in_use());
  EXPECT_EQ(cache.Pop(links, 0), 1u);
  EXPECT_EQ(cache.Pop(links, 0), TestLinks::kNone);
}

TEST(ThreadFreeCache, ASignalHandlerInTheMiddleOfAPushKeepsOut) {
  TestLinks links;
  Cache cache;
  ASSERT_TRUE(cache.Push(links, 0, 1));
  Interrupted handler;
  handler.RunIn(links, cache);
  EXPECT_TRUE(cache.Push(links, 0, 2));
  EXPECT_EQ(handler.runs, 1);
  EXPECT_EQ(handler.popped, TestLinks::kNone);
  EXPECT_FALSE(handler.pushed);
  EXPECT_EQ(cache.Pop(links, 0), 2u);
  EXPECT_EQ(cache.Pop(links, 0), 1u);
  EXPECT_EQ(cache.Pop(links, 0), TestLinks::kNone);
}

TEST(ThreadFreeCache, ASignalHandlerInTheMiddleOfADrainKeepsOut) {
  TestLinks links;
  Cache cache;
  List list;
  for (uint32_t element : {1, 2, 3}) ASSERT_TRUE(cache.Push(links, 0, element));
  Interrupted handler;
  handler.RunIn(links, cache);
  cache.Drain(links, 0, list);
  EXPECT_EQ(handler.runs, 1);
  EXPECT_EQ(handler.popped, TestLinks::kNone);
  EXPECT_FALSE(handler.pushed);
  EXPECT_EQ(PopAll(list, links), (std::vector<uint32_t>{1, 2, 3}));
}

TEST(ThreadFreeCache, ASignalHandlerInTheMiddleOfASpillOrRefillKeepsOut) {
  TestLinks links;
  Cache cache;
  List list;
  for (uint32_t element : {1, 2, 3}) ASSERT_TRUE(cache.Push(links, 0, element));
  Interrupted handler;
  handler.RunIn(links, cache);
  cache.Spill(links, 0, 2, list);
  EXPECT_EQ(handler.runs, 1);
  EXPECT_EQ(handler.popped, TestLinks::kNone);
  EXPECT_FALSE(handler.pushed);
  links.meanwhile = [] { raise(SIGUSR1); };
  cache.Refill(links, 0, 2, list);
  EXPECT_EQ(handler.runs, 2);
  EXPECT_EQ(handler.popped, TestLinks::kNone);
  EXPECT_FALSE(handler.pushed);
  for (uint32_t element : {3, 2, 1, 0}) EXPECT_EQ(cache.Pop(links, 0), element);
}

#ifndef NDEBUG
TEST(TaggedFreeListDeathTest, WhatIsPushedTwiceStopsADebugBuild) {
  TestLinks links;
  List list;
  list.Push(links, 7);
  EXPECT_DEATH(list.Push(links, 7), "inv.free.once");
  Cache cache;
  ASSERT_TRUE(cache.Push(links, 0, 8));
  EXPECT_DEATH(cache.Push(links, 0, 8), "inv.free.once");
}
#endif

}  // namespace
}  // namespace allomon::internal
