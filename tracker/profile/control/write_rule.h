// Decides which of two profiles of one name is kept.  Programs start other programs, all of which
// inherit the name of the file: `nice`, `sh -c`, `timeout` begin before the program of interest,
// and end after it.
//
// Not inside malloc, not in signal handlers; allocates.  One thread at a time.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_RULE_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_RULE_H_

#include <sys/stat.h>
#include <time.h>

#include <string>

#include "tracker/formats/mlmon.h"

namespace allomon {

// The new profile to which the rules apply.
struct NewProfile {
  ProfileKind kind = ProfileKind::kAlloc;
  bool live = false;
  MlmonInt total = 0;  // in units of mlmon.out
};

class WriteRule {
 public:
  // Created at the program's start: newer files of other programs were written while it ran.
  WriteRule();

  // Called at the program's start with the name that is written first: a file of that name was not
  // written while the program ran.  For other names the files' times decide, which advance with the
  // kernel's ticks: a program may begin and end within one.
  void NoteAtStart(const std::string& path);

  // The least total with which a file is written at all; 0 at first.
  void Demand(MlmonInt least_total) { least_total_ = least_total; }

  // Returns an empty text if the profile should be written to `path`, else the reason why not, as
  // the end of a line:
  //  - it has less than was demanded;
  //  - it is empty, and the present file has samples.  (A profile of live blocks is empty if
  //    nothing leaks.  It yields only to a file that was written while the program ran.);
  //  - the present file was written while the program ran, by another one, and has more.
  // A file that the program itself has written is always replaced.
  std::string ReasonAgainst(const std::string& path, const NewProfile& profile);
  // The total of the profile that was last checked.
  MlmonInt last_total() const { return last_total_; }

  // The program has written that file.
  void NoteWritten(const std::string& path);

 private:
  bool IsOwn(const struct stat& file) const;
  bool IsNew(const std::string& path, const struct stat& file) const;

  timespec start_ = {};
  std::string first_path_;       // "" if no name was noted at the start
  struct stat first_file_ = {};  // the file of that name then; st_ino is 0 without one
  MlmonInt least_total_ = 0;
  MlmonInt last_total_ = 0;
  struct stat own_ = {};
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_RULE_H_
