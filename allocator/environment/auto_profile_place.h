// The place of the files of ALLOMON_OUT.  It is fixed when the program starts, even if the program
// later changes its folder or its root directory, as daemons do.
//
// Plain values without locks: noted before main, read by any thread.  A few system calls each.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_PLACE_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_PLACE_H_

#include <sys/stat.h>

#include <string>
#include <vector>

namespace allomon::internal {

class StartPlace {
 public:
  // Notes the place.  Called before main, with ALLOMON_OUT as it was given.
  void Note(const std::string& out);

  // Returns the name by which `path`, expanded from ALLOMON_OUT, is reachable now:  - as it was
  // given while the program stands where it started.  (Its folder may have no path
  //    that this user may search, or may have been moved.);
  //  - from the root directory if the program has changed its folder;
  //  - from the new root directory if that is one of the folders above the file.
  std::string NameNow(const std::string& path) const;

 private:
  struct Folder {
    size_t path_length;  // length of its path in `noted_`; the root's is 0
    dev_t device;
    ino_t inode;
  };

  std::string FromRoot(const std::string& path) const;

  std::string folder_;           // "" if it is not known
  struct stat start_ = {};       // st_ino 0: not known
  std::vector<Folder> folders_;  // the folders above the file, the root first
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_PLACE_H_
