// The file of this process's control page, mapped.
//
// Open() and the rest make system calls, allocate nothing by malloc, and are no cancellation
// points. The attendant calls them one at a time.
#ifndef ALLOMON_TRACKER_CONTROL_CONTROL_FILE_H_
#define ALLOMON_TRACKER_CONTROL_CONTROL_FILE_H_

#include <cstdint>

#include "tracker/formats/control_layout.h"
#include "tracker/recording/file_path.h"

namespace allomon::control {

// CLOCK_BOOTTIME, by the vdso.
uint64_t BootNanos();

class ControlFile {
 public:
  // Makes the page of the process with that id.  Replaces a page left by an earlier process with
  // the same id in the same pid namespace.  Returns nullptr, or an error and its remedy.
  const char* Open(uint32_t pid, uint32_t parent_pid);

  // The page, or nullptr.  It stays mapped until Forget().
  Page* page() const { return page_; }
  // False if the file was truncated.
  bool IsWhole() const;

  // Called in a child: unmaps the parent's page, which the parent keeps.
  void Forget();
  // When the process ends.
  void Unlink();

  // The folder of the page, in which a recording may be made.
  const char* folder() const { return folder_; }
  // The number of the process's pid namespace; 0: /proc does not have it.
  uint64_t pid_namespace() const { return pid_namespace_; }

 private:
  const char* Create(const char* folder, uint32_t pid);
  const char* Map(int fd);
  void Write(uint32_t pid, uint32_t parent_pid);

  Page* page_ = nullptr;
  const char* folder_ = nullptr;
  uint64_t pid_namespace_ = 0;
  recording::FilePath path_ = {};
};

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_CONTROL_CONTROL_FILE_H_
