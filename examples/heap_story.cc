// A program with something for every view of a heap profile: a leak, a cache, a peak of a moment,
// and texts that die at once.  Four threads do the same for two seconds.
//
//   allomon run -o story.pb.gz -- bazel-bin/examples/heap_story
//   allomon report story.pb.gz --leaks                # Session::Remember
//   allomon report story.pb.gz --metric=peak          # SortBatch
//   allomon report story.pb.gz --metric=temporary     # Format
//   allomon report story.pb.gz --timeline
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kRequests = 20000;  // per thread
constexpr int kPause = 100;       // requests between pauses of a millisecond or more
constexpr size_t kCacheEntries = 4000;
constexpr size_t kBatchBytes = 40 << 20;
constexpr auto kBatchTime = std::chrono::milliseconds(100);

// Users are added and removed; their histories stay.  80,000 of 480 bytes: 36.6 MiB.
class Session {
 public:
  void Remember(int request) {
    history_.push_back(std::make_unique<std::string>(448, static_cast<char>('a' + request % 26)));
  }

 private:
  std::vector<std::unique_ptr<std::string>> history_;
};

// Pages of 2 KiB; when it is full, the oldest page is removed.
class Cache {
 public:
  size_t Load(int page) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& entry = pages_[page % static_cast<int>(kCacheEntries)];
    entry = Read(page);
    return entry.size();
  }

 private:
  static std::vector<char> Read(int page) {
    return std::vector<char>(2048, static_cast<char>(page));
  }

  std::mutex mutex_;
  std::unordered_map<int, std::vector<char>> pages_;
};

// Texts that die before the next one is made: most of all bytes.
__attribute__((noinline)) size_t Format(int request) {
  size_t length = 0;
  for (int field = 0; field < 40; ++field) {
    std::string text = "request " + std::to_string(request) + ", field " + std::to_string(field);
    text.append(100, '.');
    length += text.size();
  }
  return length;
}

// 40 MiB for a tenth of a second.
__attribute__((noinline)) size_t SortBatch() {
  const std::vector<char> batch(kBatchBytes, 1);
  std::this_thread::sleep_for(kBatchTime);
  return batch.size();
}

class Server {
 public:
  size_t Serve(int thread) {
    size_t work = 0;
    Session session;
    for (int request = 0; request < kRequests; ++request) {
      work += Handle(thread * kRequests + request, &session);
      if (thread == 0 && request == kRequests / 2) work += SortBatch();
      if (request % kPause == 0) std::this_thread::sleep_for(std::chrono::milliseconds(9));
    }
    // The leak: entries that are never looked up again are never removed.
    const std::lock_guard<std::mutex> lock(mutex_);
    forgotten_.push_back(new Session(std::move(session)));
    return work;
  }

 private:
  size_t Handle(int request, Session* session) {
    session->Remember(request);
    return cache_.Load(request) + Format(request);
  }

  Cache cache_;
  std::mutex mutex_;
  std::vector<Session*> forgotten_;
};

}  // namespace

int main() {
  auto* const server = new Server;  // lives until the process ends
  std::vector<std::thread> threads;
  std::vector<size_t> work(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([server, &work, i] { work[static_cast<size_t>(i)] = server->Serve(i); });
  }
  for (std::thread& thread : threads) thread.join();
  size_t sum = 0;
  for (const size_t one : work) sum += one;
  printf("%zu\n", sum);
  return 0;
}
