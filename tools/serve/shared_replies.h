// Shares replies among clients: each is made once, and kept for a second.
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

// Thread safe.  A thread that asks for a reply that another one makes waits for it.
class SharedReplies {
 public:
  static constexpr std::chrono::milliseconds kFresh{1'000};  // from the start of its making
  static constexpr size_t kMost = 16;                        // replies kept
  static constexpr size_t kMostBytes = size_t{64} << 20;     // of all bodies

  // Returns the kept reply of `key`, or the one that `make` returns.  Exceptions of `make` reach
  // the caller.
  Reply Get(const std::string& key, const std::function<Reply()>& make);

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    bool is_ready = false;
    Clock::time_point begun;
    Reply reply;
  };

  // False if the caller must make the reply.
  bool WaitFor(const std::string& key, std::unique_lock<std::mutex>* lock, Reply* reply);
  size_t Bytes() const;
  void DropOld();

  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SHARED_REPLIES_H_
