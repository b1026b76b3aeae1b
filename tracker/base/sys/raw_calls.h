// System calls for code that runs inside malloc and free, in atfork handlers, and when a recording
// or a tracker starts, stops and saves.
//
// Each returns a value that is at least 0, or -errno; calls without a value return 0.  They set no
// errno, are no cancellation points (pthreads(7)), allocate nothing and throw nothing.  All are
// async-signal-safe and may be called by all threads.  Sizes and offsets are in bytes.  Cost: the
// system call.
//
// A call that a signal interrupts (-EINTR) is repeated unless its comment says otherwise.
// Arguments are those of section 2 of the manual.
#ifndef ALLOMON_TRACKER_BASE_SYS_RAW_CALLS_H_
#define ALLOMON_TRACKER_BASE_SYS_RAW_CALLS_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tracker/base/sys/system_call.h"

namespace allomon::internal::sys {

// Repeats the call as long as signals interrupt it.
template <typename... Values>
long SystemCallUntilDone(long number, Values... values) {
  long result;
  do {
    result = SystemCall(number, values...);
  } while (result == -EINTR);
  return result;
}

// Descriptors.

// The descriptor.
inline int OpenAt(int directory, const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(SystemCallUntilDone(SYS_openat, directory, path, flags, mode));
}
inline int Open(const char* path, int flags, mode_t mode = 0) {
  return OpenAt(AT_FDCWD, path, flags, mode);
}

// Not repeated: Linux has closed the descriptor even if a signal interrupts, and another thread may
// have the number by then.
inline int Close(int fd) {
  const long result = SystemCall(SYS_close, fd);
  return result == -EINTR ? 0 : static_cast<int>(result);
}

// Returns the number of bytes read or written, possibly fewer than requested.
inline ssize_t Read(int fd, void* to, size_t size_bytes) {
  return SystemCallUntilDone(SYS_read, fd, to, size_bytes);
}
inline ssize_t Pread(int fd, void* to, size_t size_bytes, uint64_t offset) {
  return SystemCallUntilDone(SYS_pread64, fd, to, size_bytes, offset);
}
inline ssize_t Write(int fd, const void* from, size_t size_bytes) {
  return SystemCallUntilDone(SYS_write, fd, from, size_bytes);
}
inline ssize_t Pwrite(int fd, const void* from, size_t size_bytes, uint64_t offset) {
  return SystemCallUntilDone(SYS_pwrite64, fd, from, size_bytes, offset);
}

// Only for commands that neither wait nor take a pointer: F_DUPFD_CLOEXEC, F_GETFL, F_GET_SEALS and
// the like.
inline int Fcntl(int fd, int command, long argument = 0) {
  return static_cast<int>(SystemCall(SYS_fcntl, fd, command, argument));
}
// SYNC_FILE_RANGE_WRITE and the like; a range of 0 bytes reaches to the end.  Waits for the disk as
// the flags say.
inline int SyncFileRange(int fd, uint64_t offset, uint64_t size_bytes, unsigned flags) {
  return static_cast<int>(SystemCallUntilDone(SYS_sync_file_range, fd, offset, size_bytes, flags));
}
// POSIX_FADV_DONTNEED and the like; a range of 0 bytes reaches to the end.
inline int Fadvise(int fd, uint64_t offset, uint64_t size_bytes, int advice) {
  return static_cast<int>(SystemCall(SYS_fadvise64, fd, offset, size_bytes, advice));
}
inline int Fsync(int fd) { return static_cast<int>(SystemCallUntilDone(SYS_fsync, fd)); }

// Files.

// On 64-bit Linux the kernel's structure is the C library's.
static_assert(sizeof(long) == 8 && sizeof(off_t) == 8);
inline int Fstat(int fd, struct stat* status) {
  return static_cast<int>(SystemCall(SYS_fstat, fd, status));
}
inline int FstatAt(int directory, const char* path, struct stat* status, int flags) {
  return static_cast<int>(SystemCall(SYS_newfstatat, directory, path, status, flags));
}
inline int Lstat(const char* path, struct stat* status) {
  return FstatAt(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

// Entries of a directory, each a dirent64.  Returns their bytes; 0 after the last one.
inline ssize_t Getdents(int fd, void* to, size_t size_bytes) {
  return SystemCallUntilDone(SYS_getdents64, fd, to, size_bytes);
}

inline int Ftruncate(int fd, uint64_t size_bytes) {
  return static_cast<int>(SystemCallUntilDone(SYS_ftruncate, fd, size_bytes));
}

// Mode 0, not repeated.  A file system in memory stops at a signal and undoes its allocation, so
// with a fast timer the call would be repeated for ever.  If the file system does not support the
// call it returns -EOPNOTSUPP, while the C library's posix_fallocate() writes zeros then.
inline int Fallocate(int fd, uint64_t offset, uint64_t size_bytes) {
  return static_cast<int>(SystemCall(SYS_fallocate, fd, 0, offset, size_bytes));
}

inline int UnlinkAt(int directory, const char* path, int flags = 0) {
  return static_cast<int>(SystemCall(SYS_unlinkat, directory, path, flags));
}
inline int Unlink(const char* path) { return UnlinkAt(AT_FDCWD, path); }

inline int RenameAt(int old_directory, const char* old_path, int new_directory,
                    const char* new_path) {
  return static_cast<int>(
      SystemCall(SYS_renameat, old_directory, old_path, new_directory, new_path));
}
inline int Rename(const char* old_path, const char* new_path) {
  return RenameAt(AT_FDCWD, old_path, AT_FDCWD, new_path);
}

// Returns the length of the link's text, which has no final zero and may have been cut.
inline ssize_t Readlink(const char* path, char* text, size_t room_bytes) {
  return SystemCall(SYS_readlinkat, AT_FDCWD, path, text, room_bytes);
}
// Returns the length, including the final zero.
inline ssize_t Getcwd(char* text, size_t room_bytes) {
  return SystemCall(SYS_getcwd, text, room_bytes);
}

// Memory.  The host's mmap() may be a function of its own, or ours
// (allocator/overrides/mmap_override.h): these calls bypass both.

// Whether the result of Mmap() is an address.
inline bool IsAddress(void* answer) {
  return reinterpret_cast<uintptr_t>(answer) < -uintptr_t{4095};
}
// The address, or -errno as one.
inline void* Mmap(void* at, size_t size_bytes, int protection, int flags, int fd, uint64_t offset) {
  return reinterpret_cast<void*>(
      SystemCall(SYS_mmap, at, size_bytes, protection, flags, fd, offset));
}
inline int Munmap(void* pages, size_t size_bytes) {
  return static_cast<int>(SystemCall(SYS_munmap, pages, size_bytes));
}
inline int Madvise(void* pages, size_t size_bytes, int advice) {
  return static_cast<int>(SystemCall(SYS_madvise, pages, size_bytes, advice));
}
inline int Mprotect(void* pages, size_t size_bytes, int protection) {
  return static_cast<int>(SystemCall(SYS_mprotect, pages, size_bytes, protection));
}

// Waiting.

// Not repeated: -EINTR is a wait that was cut short.
inline int Nanosleep(const timespec& pause) {
  return static_cast<int>(SystemCall(SYS_nanosleep, &pause, 0));
}
inline void SchedYield() { SystemCall(SYS_sched_yield); }

// Processes.

inline pid_t Getpid() { return static_cast<pid_t>(SystemCall(SYS_getpid)); }
inline pid_t Getppid() { return static_cast<pid_t>(SystemCall(SYS_getppid)); }
inline pid_t Gettid() { return static_cast<pid_t>(SystemCall(SYS_gettid)); }
inline int Kill(pid_t process, int signal) {
  return static_cast<int>(SystemCall(SYS_kill, process, signal));
}
// Acts on the calling process; either pointer may be null.
inline int Prlimit(int resource, const rlimit* wanted, rlimit* found) {
  return static_cast<int>(SystemCall(SYS_prlimit64, 0, resource, wanted, found));
}

}  // namespace allomon::internal::sys

#endif  // ALLOMON_TRACKER_BASE_SYS_RAW_CALLS_H_
