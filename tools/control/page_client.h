// The command's side of a control page (tracker/formats/CONTROL.md).
//
// Reads and writes the page as a file, and never maps it: the process that has the page may be
// hostile, and may truncate it.  Its contents are not trusted: texts are cut, and sizes are not
// believed.
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

// The contents of a page.  Texts end within their arrays.
struct PageState {
  State state = State::kIdle;
  double rate = 0;
  std::string recording;  // as the process names it; "": it has not recorded
  uint64_t looks = 0;
  uint64_t looked_at_nanos = 0;  // CLOCK_BOOTTIME; 0: never
  uint64_t answered = 0;         // number of the last answered request
  Answer answer = Answer::kNone;
  std::string refusal;
  uint64_t asked = 0;  // number of the last request
};

// A request to a process.
struct Order {
  Verb verb = Verb::kNone;
  bool for_children = false;
  double rate = -1;          // below 0: the process's own rate
  uint64_t limit_bytes = 0;  // 0: the process's own limit
  std::string path;          // "": the process's own path
};

class PageClient {
 public:
  // Fails with one line that says why the process cannot be asked, and what to do.
  static absl::StatusOr<std::unique_ptr<PageClient>> Open(uint32_t pid);
  ~PageClient();
  PageClient(const PageClient&) = delete;
  PageClient& operator=(const PageClient&) = delete;

  const ProcessFacts& process() const { return process_; }

  absl::StatusOr<PageState> Read() const;

  // Callers lock before Send(): no other command can send to the process until this object is
  // destroyed.
  absl::Status Lock();
  // Returns the number of the request.  The process answers when it looks for requests next.
  absl::StatusOr<uint64_t> Send(const Order& order);

  // The path by which this process opens a file that the other one names so: the same path, unless
  // the other process has other folders.
  std::string PathFromHere(const std::string& path) const;

 private:
  PageClient(int fd, ProcessFacts process) : fd_(fd), process_(std::move(process)) {}
  absl::Status Check() const;
  absl::StatusOr<std::unique_ptr<Page>> ReadPage() const;
  absl::Status Damaged() const;
  absl::Status WriteAt(uint64_t offset, const void* bytes, size_t size_bytes);

  const int fd_;
  const ProcessFacts process_;
};

// Returns clients for the descendants of `pid` that have a page.  Other descendants create one when
// they first look for requests, and then do what `pid` was asked to do for its children.
std::vector<std::unique_ptr<PageClient>> PagesOfDescendants(uint32_t pid);

// Returns the same clients, in the form for AskEach().
std::vector<PageClient*> Pointers(const std::vector<std::unique_ptr<PageClient>>& clients);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_PAGE_CLIENT_H_
