// Carries out what a control page asks for.
//
// The attendant calls these one at a time, in a callback or before main.  Nothing here keeps more
// than a few hundred bytes on the stack itself, since a thread may have a small one.
#ifndef ALLOMON_TRACKER_CONTROL_ORDERS_H_
#define ALLOMON_TRACKER_CONTROL_ORDERS_H_

#include "tracker/control/attendant.h"
#include "tracker/core/session_id.h"
#include "tracker/formats/control_layout.h"
#include "tracker/recording/file_path.h"

namespace allomon::control {

// The recording that requests begin and end.
class Orders {
 public:
  // What holds where a request says nothing.  False if the path is too long.
  bool SetDefaults(const AttendOptions& options);
  // Where the page is, for a recording beside it: its folder, and the number of the pid namespace.
  void SetPlace(const char* folder, uint64_t pid_namespace);

  // Fills in all of *reply but its sequence.  The request is a copy of what a hostile process may
  // have written; its path ends with a zero.
  void CarryOut(const Request& request, Reply* reply);

  // In a child of fork: the parent's recording, if there is one, goes on in a file of the child's
  // own, and the parent's last one is none of the child's.
  void BecomeChild() { *path_.text = '\0'; }
  // What goes on, for a page that is new.
  void Describe(Reply* reply);

 private:
  const char* Obey(const Request& request);
  const char* Start(const Request& request);
  const char* Stop();

  char default_path_[kMostPathBytes] = {};
  double default_rate_ = 0;
  uint64_t default_limit_bytes_ = 0;
  std::optional<uint64_t> seed_;
  recording::Watcher* watcher_ = nullptr;

  bool has_own_path_ = false;      // the default one, that is beside the page
  recording::FilePath path_ = {};  // of the last recording; empty: none
  double rate_ = 0;
  internal::SessionId session_ = 0;  // 0: it does not record
};

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_CONTROL_ORDERS_H_
