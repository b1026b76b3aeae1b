// Keeps errno: a sample is made behind a malloc or free that succeeds, and the program must not see
// it in errno.
#ifndef ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_
#define ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_

#include <cerrno>

namespace allomon {

// Behind the scope errno is what it was before.
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
