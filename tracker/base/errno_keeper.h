// Keeps errno: a sample is made after a successful malloc or free, and must not change the errno
// that the program sees.
#ifndef ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_
#define ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_

#include <cerrno>

namespace allomon {

// Restores errno at the end of the scope.
class ErrnoKeeper {
 public:
  ErrnoKeeper() = default;
  ~ErrnoKeeper() { errno = kept_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  const int kept_ = errno;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_
