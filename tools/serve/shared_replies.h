// Replies that several clients get: made once, and kept for a second.
#ifndef ALLOMON_TOOLS_SERVE_SHARED_REPLIES_H_
#define ALLOMON_TOOLS_SERVE_SHARED_REPLIES_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "tools/serve/http.h"

namespace allomon::serve {

// Thread safe.  Who asks for a reply that is being made waits for it.
class SharedReplies {
 public:
  static constexpr std::chrono::milliseconds kFresh{1'000};  // from when its making began
  static constexpr size_t kMost = 16;                        // that are kept
  static constexpr size_t kMostBytes = size_t{64} << 20;     // of their bodies

  // That of `key`, or what `make` returns.  What `make` throws goes on to the caller.
  Reply Get(const std::string& key, const std::function<Reply()>& make);

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    bool is_ready = false;
    Clock::time_point begun;
    Reply reply;
  };

  // False if the caller is to make it.
  bool WaitFor(const std::string& key, std::unique_lock<std::mutex>* lock, Reply* reply);
  size_t Bytes() const;
  void DropOld();

  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SHARED_REPLIES_H_
