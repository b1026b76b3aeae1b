// Labels that follow work: to the threads of a pool, and with tasks that are resumed elsewhere.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/labels/labelled.h"

namespace allomon {
namespace {

using testing::Labelled;

// Runs tasks with the labels that were current where they were submitted.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Pool() {
    Push({});
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void Run(std::function<void()> task) {
    Push([task = std::move(task), labels = CurrentLabels()] {
      const WithLabels with(labels);
      task();
    });
  }

 private:
  void Push(std::function<void()> task) {
    const std::lock_guard<std::mutex> hold(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void Work() {
    while (true) {
      std::unique_lock<std::mutex> hold(mutex_);
      changed_.wait(hold, [this] { return !tasks_.empty(); });
      if (!tasks_.front()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      hold.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
};

TEST(TasksTest, PoolRunsTasksWithTheLabelsOfWhoGaveThem) {
  std::mutex mutex;
  std::vector<std::pair<int, Labels>> seen;
  std::vector<Labels> given;
  {
    Pool pool(2);
    for (int i = 0; i < 500; ++i) {
      const std::string tenant = "tenant " + std::to_string(i % 7);
      const ScopedLabel label("tenant", tenant);
      given.push_back(CurrentLabels());
      pool.Run([i, &mutex, &seen] {
        const std::lock_guard<std::mutex> hold(mutex);
        seen.emplace_back(i, CurrentLabels());
      });
    }
  }
  ASSERT_EQ(seen.size(), given.size());
  for (const auto& [i, labels] : seen) EXPECT_EQ(labels, given[static_cast<size_t>(i)]);
}

TEST(TasksTest, LabelsOfATaskStandAlone) {
  Labelled labelled;
  Labels task;
  {
    const ScopedLabel tenant("tenant", "acme");
    task = CurrentLabels();
  }
  const ScopedLabel worker("worker", "3");
  {
    const WithLabels with(task);
    EXPECT_EQ(labelled.Now(), "tenant=acme");
    const ScopedLabel step("step", "2");
    EXPECT_EQ(labelled.Now(), "step=2 tenant=acme");
    const WithLabels without((Labels()));
    EXPECT_EQ(labelled.Now(), "");
  }
  EXPECT_EQ(labelled.Now(), "worker=3");
}

// Imitates a coroutine, which holds labels, not scopes, across its suspensions.
struct Coroutine {
  Labels labels;
  int step = 0;

  bool Resume(const std::function<void()>& body) {
    const WithLabels with(labels);
    const std::string number = std::to_string(step);
    const ScopedLabel label("step", number);
    body();
    return ++step < 3;
  }
};

TEST(TasksTest, CoroutinesInTurnsOnTwoThreads) {
  Labelled labelled;
  std::vector<Coroutine> coroutines(2);
  for (size_t i = 0; i < 2; ++i) {
    const ScopedLabel tenant("tenant", i == 0 ? "acme" : "zeta");
    coroutines[i].labels = CurrentLabels();
  }
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < 2; ++i) {
      const std::string expected =
          "step=" + std::to_string(step) + (i == 0 ? " tenant=acme" : " tenant=zeta");
      const auto resume = [&] {
        coroutines[i].Resume([&] { EXPECT_EQ(labelled.Now(), expected); });
        EXPECT_EQ(labelled.Now(), "");
      };
      step % 2 == 0 ? resume() : std::thread(resume).join();
    }
  }
}

TEST(TasksTest, NumberThatNobodyWasGivenIsNoLabels) {
  Labelled labelled;
  allomon_label_scope scope;
  allomon_labels_enter(&scope, 4'000'000'000u);
  EXPECT_EQ(labelled.Now(), "");
  allomon_label_pop(&scope);
}

}  // namespace
}  // namespace allomon
