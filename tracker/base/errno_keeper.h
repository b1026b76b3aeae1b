// What a sample does behind a malloc or free that succeeds must not be seen in errno.
#ifndef ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_
#define ALLOMON_TRACKER_BASE_ERRNO_KEEPER_H_

#include <cerrno>

namespace allomon {

// errno is after its scope what it was before.
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
