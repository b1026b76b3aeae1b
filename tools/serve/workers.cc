#include "tools/serve/workers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace allomon::serve {

Workers::Workers(size_t threads, size_t most_untaken_bytes, Answer answer)
    : answer_(std::move(answer)),
      most_untaken_bytes_(most_untaken_bytes),
      done_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  threads_.emplace_back([this] { Work(true); });
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(false); });
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
    for (const auto& [id, is_cancelled] : begun_) is_cancelled->store(true);
  }
  may_begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  close(done_fd_);
}

void Workers::Add(Job job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_[job.is_quick].push_back(std::move(job));
  }
  may_begin_.notify_all();
}

void Workers::Cancel(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_it = [id](const Job& job) { return job.id == id; };
  for (auto& jobs : jobs_) jobs.erase(std::remove_if(jobs.begin(), jobs.end(), is_it), jobs.end());
  const auto begun = begun_.find(id);
  if (begun != begun_.end()) begun->second->store(true);
}

std::vector<Done> Workers::TakeDone() {
  std::vector<Done> done;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    uint64_t count = 0;
    const ssize_t got = read(done_fd_, &count, sizeof count);
    static_cast<void>(got);  // without anything to read nothing is done
    done.swap(done_);
    untaken_bytes_ = 0;
  }
  may_begin_.notify_all();
  return done;
}

void Workers::Work(bool is_quick) {
  Job job;
  while (const Flag is_cancelled = Take(is_quick, &job)) Give({job.id, Make(job, is_cancelled)});
}

// Waits for a job.  Returns null when the threads must end.
Workers::Flag Workers::Take(bool is_quick, Job* job) {
  std::deque<Job>& jobs = jobs_[is_quick];
  std::unique_lock<std::mutex> lock(mutex_);
  may_begin_.wait(lock, [&] { return ends_ || (!jobs.empty() && HasRoomLocked()); });
  if (ends_) return nullptr;
  *job = std::move(jobs.front());
  jobs.pop_front();
  return begun_[job->id] = std::make_shared<std::atomic<bool>>(false);
}

// Catches exceptions, because a heap profile may need more memory than there is.
Response Workers::Make(const Job& job, const Flag& is_cancelled) const {
  const Answer answer = [&](const Request& request) {
    Request with_flag = request;
    with_flag.is_cancelled = is_cancelled.get();
    return answer_(with_flag);
  };
  try {
    return Respond(job.request, job.head_bytes, job.close, answer);
  } catch (const std::exception&) {
    return Refusal(500);
  }
}

void Workers::Give(Done done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begun_.erase(done.id);
  untaken_bytes_ += done.response.size();
  done_.push_back(std::move(done));
  const uint64_t one = 1;
  const ssize_t written = write(done_fd_, &one, sizeof one);
  static_cast<void>(written);  // the counter is full: the descriptor is readable
}

}  // namespace allomon::serve
