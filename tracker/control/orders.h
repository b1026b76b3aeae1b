// Carries out the requests of a control page.
//
// The attendant calls these one at a time, in a callback or before main.  Functions here keep at
// most a few hundred bytes on the stack, since a thread's stack may be small.
#ifndef ALLOMON_TRACKER_CONTROL_ORDERS_H_
#define ALLOMON_TRACKER_CONTROL_ORDERS_H_

#include "tracker/control/attendant.h"
#include "tracker/core/ids.h"
#include "tracker/formats/control_layout.h"
#include "tracker/recording/file_path.h"

namespace allomon::control {

// The recording that requests begin and end.
class Orders {
 public:
  // Sets the defaults of requests.  Returns false if the path is too long.
  bool SetDefaults(const AttendOptions& options);
  // Sets the page's folder, for a recording there, and the number of the pid namespace.  Where that
  // folder has no room, as /dev/shm of a container, the other one of the pages' is tried.
  void SetPlace(const char* folder, uint64_t pid_namespace);

  // Fills in all of *reply but its sequence.  The request is a copy of bytes that a hostile process
  // may have written; its path ends with a zero.
  void CarryOut(const Request& request, Reply* reply);

  // Called in a child of fork.  The parent's recording, if there is one, continues in a file of the
  // child's own.  The path of the parent's last one is forgotten.
  void BecomeChild() { *path_.text = '\0'; }
  // Fills in the current state, for a new page.
  void Describe(Reply* reply);

 private:
  const char* Obey(const Request& request);
  const char* Start(const Request& request);
  void WriteDefaultPath(const char* folder);
  const char* StartAt(const char* path, const Request& request);
  const char* Stop();

  char default_path_[kMostPathBytes] = {};
  double default_rate_ = 0;
  uint64_t default_limit_bytes_ = 0;
  std::optional<uint64_t> seed_;
  recording::Watcher* watcher_ = nullptr;

  bool has_own_path_ = false;     // its own default path, not the page's folder
  const char* folder_ = nullptr;  // of the page
  uint64_t pid_namespace_ = 0;
  recording::FilePath path_ = {};  // of the last recording; empty: none
  double rate_ = 0;
  internal::SessionId session_ = 0;  // 0: it does not record
};

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_CONTROL_ORDERS_H_
