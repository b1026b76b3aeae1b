// A command's side of a control page (tracker/formats/CONTROL.md).
//
// The page is read and written as a file, never mapped: the process that has it may be hostile, and
// may truncate it.  What is read is taken for hostile: texts are cut, and sizes are not believed.
#ifndef ALLOMON_TOOLS_CONTROL_PAGE_CLIENT_H_
#define ALLOMON_TOOLS_CONTROL_PAGE_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/control/processes.h"
#include "tracker/formats/control_layout.h"

namespace allomon::control {

// What a page says, as text that ends.
struct PageState {
  State state = State::kIdle;
  double rate = 0;
  std::string recording;  // as the process names it; "": it has not recorded
  uint64_t looks = 0;
  uint64_t looked_at_nanos = 0;  // CLOCK_BOOTTIME; 0: never
  uint64_t answered = 0;         // the number of the last request that was
  Answer answer = Answer::kNone;
  std::string refusal;
  uint64_t asked = 0;  // the number of the last request
};

// What to ask for.
struct Order {
  Verb verb = Verb::kNone;
  bool for_children = false;
  double rate = -1;          // below 0: the process's own
  uint64_t limit_bytes = 0;  // 0: the process's own
  std::string path;          // "": the process's own
};

class PageClient {
 public:
  // Fails with one line that says why the process cannot be talked to, and what to do.
  static absl::StatusOr<std::unique_ptr<PageClient>> Open(uint32_t pid);
  ~PageClient();
  PageClient(const PageClient&) = delete;
  PageClient& operator=(const PageClient&) = delete;

  const ProcessFacts& process() const { return process_; }

  absl::StatusOr<PageState> Read() const;

  // For Send(): no other command talks to the process until this object is gone.
  absl::Status Lock();
  // The number of the request.  The process answers when it looks next.
  absl::StatusOr<uint64_t> Send(const Order& order);

  // The path by which this process opens a file that the other one names so.
  std::string PathFromHere(const std::string& path) const;

 private:
  PageClient(int fd, ProcessFacts process) : fd_(fd), process_(std::move(process)) {}
  absl::Status Check() const;
  absl::StatusOr<std::unique_ptr<Page>> ReadPage() const;
  absl::Status WriteAt(uint64_t offset, const void* bytes, size_t size_bytes);

  const int fd_;
  const ProcessFacts process_;
};

// Of all that the process has started, those that have a page.  The others get one when they look
// first, and do then what `pid` was asked for its children.
std::vector<std::unique_ptr<PageClient>> PagesOfDescendants(uint32_t pid);

// The same clients, for AskEach().
std::vector<PageClient*> Pointers(const std::vector<std::unique_ptr<PageClient>>& clients);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_PAGE_CLIENT_H_
