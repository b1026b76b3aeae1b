// Threads that answer requests, one at a time each.  Quick requests have a thread of their own, so
// that a scraper does not wait for flame graphs.
#ifndef ALLOMON_TOOLS_SERVE_WORKERS_H_
#define ALLOMON_TOOLS_SERVE_WORKERS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/http.h"

namespace allomon::serve {

struct Job {
  uint64_t id = 0;
  std::string request;  // head and body
  size_t head_bytes = 0;
  bool close = false;  // after the response
  bool is_quick = false;
};

struct Done {
  uint64_t id = 0;
  Response response;
};

// Thread safe.
class Workers {
 public:
  // While answers of `most_untaken_bytes` or more are done and not taken, no other job begins:
  // their memory is bounded by that and one answer for each thread.
  Workers(size_t threads, size_t most_untaken_bytes, Answer answer);
  // Cancels all jobs, and waits for answers that are being made.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Add(Job job);
  // Removes a job that has not begun.  The request of one that has begun says that it is cancelled.
  void Cancel(uint64_t id);

  // Readable when an answer is done.
  int done_fd() const { return done_fd_; }
  std::vector<Done> TakeDone();

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;

  void Work(bool is_quick);
  Flag Take(bool is_quick, Job* job);
  bool HasRoomLocked() const { return untaken_bytes_ < most_untaken_bytes_; }
  Response Make(const Job& job, const Flag& is_cancelled) const;
  void Give(Done done);

  const Answer answer_;
  const size_t most_untaken_bytes_;
  const int done_fd_;
  std::mutex mutex_;
  std::condition_variable may_begin_;
  std::deque<Job> jobs_[2];         // ordinary and quick ones
  std::map<uint64_t, Flag> begun_;  // cancellation flags of running jobs, by id
  std::vector<Done> done_;
  size_t untaken_bytes_ = 0;  // of done_
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_WORKERS_H_
