#include "tools/serve/workers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace allomon::serve {

Workers::Workers(size_t threads, Answer answer)
    : answer_(std::move(answer)), done_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  has_jobs_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  close(done_fd_);
}

void Workers::Add(Job job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  has_jobs_.notify_one();
}

void Workers::Cancel(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_it = [id](const Job& job) { return job.id == id; };
  jobs_.erase(std::remove_if(jobs_.begin(), jobs_.end(), is_it), jobs_.end());
}

std::vector<Done> Workers::TakeDone() {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t count = 0;
  const ssize_t got = read(done_fd_, &count, sizeof count);
  static_cast<void>(got);  // nothing to read: nothing is done
  return std::exchange(done_, {});
}

void Workers::Work() {
  for (Job job; Take(&job);) Give({job.id, Make(job)});
}

bool Workers::Take(Job* job) {
  std::unique_lock<std::mutex> lock(mutex_);
  has_jobs_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
  if (ends_) return false;
  *job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

// A heap profile may need more memory than there is.
Response Workers::Make(const Job& job) const {
  try {
    return Respond(job.request, job.head_bytes, job.close, answer_);
  } catch (const std::exception&) {
    return Refusal(500);
  }
}

void Workers::Give(Done done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  done_.push_back(std::move(done));
  const uint64_t one = 1;
  const ssize_t written = write(done_fd_, &one, sizeof one);
  static_cast<void>(written);  // it is readable already
}

}  // namespace allomon::serve
