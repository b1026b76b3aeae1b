// Pushes profiles to a collector at intervals: one thread makes them, one sends them.
//
// A collector that is slow or gone costs memory up to the queue's limit, and nothing else waits for
// it.
#ifndef ALLOMON_TOOLS_SERVE_PUSHER_H_
#define ALLOMON_TOOLS_SERVE_PUSHER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/push_post.h"
#include "tools/serve/push_queue.h"

namespace allomon::serve {

// Of requests.  Readable at any time, also in a forked child.
struct PushCounts {
  std::atomic<uint64_t> taken{0};
  std::atomic<uint64_t> refused{0};  // in whole or in part
  std::atomic<uint64_t> dropped{0};  // found no room in the queue
  std::atomic<uint64_t> retries{0};
  std::atomic<uint64_t> queued{0};
  std::atomic<uint64_t> queued_bytes{0};
  std::atomic<int64_t> last_taken_unix_seconds{0};
};

struct PushTimes {
  std::chrono::milliseconds interval{60'000};
  std::chrono::milliseconds first_wait{1'000};  // after a failure; doubled for each further one
  std::chrono::milliseconds most_wait{60'000};
  std::chrono::milliseconds at_end{5'000};  // for the last profiles
};

// The parts of a pusher, which tests replace.  The first two may throw Cancelled.
struct PushWork {
  std::function<std::vector<SharedText>(const std::atomic<bool>* is_cancelled)> look;
  std::function<PushResult(const SharedText& body, const std::atomic<bool>* is_cancelled)> post;
  std::function<void(const std::string& line)> say;
};

class Pusher {
 public:
  // Looks at once, and then at intervals.  `counts` must outlive it.
  Pusher(PushWork work, const PushTimes& times, const QueueLimits& limits, PushCounts* counts);
  // Looks once more, and tries to send what there is for a moment.
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

 private:
  void RunLooks();
  void RunPosts();
  void LookOnce();
  // Returns false if the collector is not to be asked any more.
  bool PostOnce(std::unique_lock<std::mutex>* lock);

  void Judge(const PushResult& result, SharedText body);
  void Count();
  void AddDropped(size_t dropped);
  void SayOutageEnds();
  std::chrono::milliseconds NextWait(double asked_seconds);

  const PushWork work_;
  const PushTimes times_;
  PushCounts& counts_;

  std::mutex mutex_;
  std::condition_variable changed_;
  PushQueue queue_;
  bool is_ending_ = false;
  bool looks_are_done_ = false;
  bool posts_are_done_ = false;
  std::atomic<bool> is_cancelled_{false};

  // Of the thread that sends.
  unsigned failures_ = 0;  // since the last answer that was none
  uint64_t dropped_before_ = 0;
  std::string last_refusal_;
  std::minstd_rand jitter_;

  bool has_said_full_ = false;
  std::thread looks_, posts_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PUSHER_H_
