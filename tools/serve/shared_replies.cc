#include "tools/serve/shared_replies.h"

namespace allomon::serve {

Reply SharedReplies::Get(const std::string& key, const std::function<Reply()>& make) {
  std::unique_lock<std::mutex> lock(mutex_);
  Reply reply;
  if (WaitFor(key, &lock, &reply)) return reply;
  DropOld();
  entries_[key].begun = Clock::now();
  lock.unlock();
  try {
    reply = make();
  } catch (...) {
    lock.lock();
    entries_.erase(key);
    has_changed_.notify_all();
    throw;
  }
  lock.lock();
  entries_[key].reply = reply;
  entries_[key].is_ready = true;
  has_changed_.notify_all();
  return reply;
}

bool SharedReplies::WaitFor(const std::string& key, std::unique_lock<std::mutex>* lock,
                            Reply* reply) {
  for (;;) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return false;
    if (found->second.is_ready) {
      if (found->second.begun + kFresh < Clock::now()) {
        found->second.is_ready = false;  // the caller makes a new one
        return false;
      }
      *reply = found->second.reply;
      return true;
    }
    has_changed_.wait(*lock);
  }
}

size_t SharedReplies::Bytes() const {
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) {
    if (entry.is_ready && entry.reply.body != nullptr) bytes += entry.reply.body->size();
  }
  return bytes;
}

// Evicts expired replies, then the oldest ones above kMost and kMostBytes.  Replies still being
// made stay.
void SharedReplies::DropOld() {
  const auto now = Clock::now();
  for (auto each = entries_.begin(); each != entries_.end();) {
    const bool is_old = each->second.is_ready && each->second.begun + kFresh < now;
    each = is_old ? entries_.erase(each) : std::next(each);
  }
  while (entries_.size() >= kMost || Bytes() > kMostBytes) {
    auto oldest = entries_.end();
    for (auto each = entries_.begin(); each != entries_.end(); ++each) {
      if (!each->second.is_ready) continue;
      if (oldest == entries_.end() || each->second.begun < oldest->second.begun) oldest = each;
    }
    if (oldest == entries_.end()) return;
    entries_.erase(oldest);
  }
}

}  // namespace allomon::serve
