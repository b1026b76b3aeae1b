// Threads that answer requests, one each at a time.
#ifndef ALLOMON_TOOLS_SERVE_WORKERS_H_
#define ALLOMON_TOOLS_SERVE_WORKERS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
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
  bool close = false;  // behind the response
};

struct Done {
  uint64_t id = 0;
  Response response;
};

// Thread safe.
class Workers {
 public:
  Workers(size_t threads, Answer answer);
  // Waits for answers that are being made; leaves out the others.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Add(Job job);
  // The job is not begun if it has not been.
  void Cancel(uint64_t id);

  // Readable when something is done.
  int done_fd() const { return done_fd_; }
  std::vector<Done> TakeDone();

 private:
  void Work();
  bool Take(Job* job);
  Response Make(const Job& job) const;
  void Give(Done done);

  const Answer answer_;
  const int done_fd_;
  std::mutex mutex_;
  std::condition_variable has_jobs_;
  std::deque<Job> jobs_;
  std::vector<Done> done_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_WORKERS_H_
