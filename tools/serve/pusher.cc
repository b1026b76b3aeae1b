#include "tools/serve/pusher.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace allomon::serve {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kMostDoublings = 16;

std::string Requests(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " request" : " requests");
}

}  // namespace

Pusher::Pusher(PushWork work, const PushTimes& times, const QueueLimits& limits, PushCounts* counts)
    : work_(std::move(work)),
      times_(times),
      counts_(*counts),
      queue_(limits),
      jitter_(std::random_device{}()),
      looks_([this] { RunLooks(); }),
      posts_([this] { RunPosts(); }) {}

Pusher::~Pusher() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, times_.at_end, [this] { return looks_are_done_ && posts_are_done_; });
  }
  is_cancelled_ = true;
  looks_.join();
  posts_.join();
  if (queue_.empty()) return;
  counts_.dropped += queue_.size();
  work_.say(Requests(queue_.size()) + " that the collector did not take are lost at the end");
}

// ---- Looks

void Pusher::RunLooks() {
  Clock::time_point next = Clock::now();
  for (bool is_last = false;; is_last = is_ending_) {
    try {
      LookOnce();
    } catch (const Cancelled&) {
      is_last = true;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_last) {
      looks_are_done_ = true;
      changed_.notify_all();
      return;
    }
    // A look that took longer than the interval is followed by one at the next multiple.
    const Clock::time_point now = Clock::now();
    while (next <= now) next += times_.interval;
    changed_.wait_until(lock, next, [this] { return is_ending_; });
  }
}

void Pusher::LookOnce() {
  std::vector<SharedText> bodies = work_.look(&is_cancelled_);
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t dropped = 0;
  for (SharedText& body : bodies) dropped += queue_.Add(std::move(body));
  AddDropped(dropped);
  Count();
  changed_.notify_all();
}

// ---- Posts

void Pusher::RunPosts() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || looks_are_done_; });
    if (queue_.empty() || !PostOnce(&lock)) break;
  }
  posts_are_done_ = true;
  changed_.notify_all();
}

bool Pusher::PostOnce(std::unique_lock<std::mutex>* lock) {
  const bool is_last_try = is_ending_;
  const SharedText body = queue_.Take();
  lock->unlock();
  PushResult result;
  bool is_cancelled = false;
  try {
    result = work_.post(body, &is_cancelled_);
  } catch (const Cancelled&) {
    is_cancelled = true;
  }
  lock->lock();
  if (is_cancelled) {
    AddDropped(queue_.PutBack(body));
    return false;
  }
  Judge(result, body);
  Count();
  if (!result.IsToRetry()) return true;
  if (is_last_try) return false;
  const milliseconds wait = NextWait(result.retry_after_seconds);
  changed_.wait_for(*lock, wait, [this] { return is_ending_; });
  return true;
}

void Pusher::Judge(const PushResult& result, SharedText body) {
  if (result.IsToRetry()) {
    if (failures_++ == 0) {
      dropped_before_ = counts_.dropped;
      work_.say(result.message + "; trying again");
    }
    ++counts_.retries;
    AddDropped(queue_.PutBack(std::move(body)));
    return;
  }
  SayOutageEnds();
  if (result.IsTaken()) {
    ++counts_.taken;
    counts_.last_taken_unix_seconds = time(nullptr);
  }
  if (result.IsTaken() && !result.is_partial) {
    last_refusal_.clear();
    return;
  }
  ++counts_.refused;
  const std::string refusal =
      (result.is_partial ? "the collector took a part only: " : "the collector refuses: ") +
      result.message;
  if (refusal != last_refusal_) work_.say(refusal);
  last_refusal_ = refusal;
}

void Pusher::SayOutageEnds() {
  if (failures_ == 0) return;
  const uint64_t dropped = counts_.dropped - dropped_before_;
  work_.say("the collector answers again" +
            (dropped == 0 ? std::string() : "; " + Requests(dropped) + " were dropped meanwhile"));
  failures_ = 0;
  has_said_full_ = false;
}

// Returns the time that the collector has asked for, or a longer one after each failure.  Half of
// the latter is random, so that many servers do not come back at once.
milliseconds Pusher::NextWait(double asked_seconds) {
  if (asked_seconds >= 0) return milliseconds(static_cast<int64_t>(asked_seconds * 1000));
  const unsigned doublings = std::min(failures_ == 0 ? 0 : failures_ - 1, kMostDoublings);
  const milliseconds wait = std::min(times_.first_wait * (1 << doublings), times_.most_wait);
  std::uniform_int_distribution<int64_t> half(0, wait.count() / 2);
  return wait - milliseconds(half(jitter_));
}

// ---- Counts.  The lock is held.

void Pusher::AddDropped(size_t dropped) {
  if (dropped == 0) return;
  counts_.dropped += dropped;
  if (!has_said_full_) work_.say("the queue is full: the oldest requests are dropped");
  has_said_full_ = true;
}

void Pusher::Count() {
  counts_.queued = queue_.size();
  counts_.queued_bytes = queue_.bytes();
}

}  // namespace allomon::serve
