// Makes a system call by the machine instruction.
//
// The C library's functions of the same names set errno, and many of them are cancellation points:
// a cancelled thread would end in them, which here is inside malloc.  The functions below do
// neither.  raw_calls.h has the calls by name.
#ifndef ALLOMON_TRACKER_BASE_SYS_SYSTEM_CALL_H_
#define ALLOMON_TRACKER_BASE_SYS_SYSTEM_CALL_H_

#include <sys/syscall.h>

#include <type_traits>

#ifndef __x86_64__
#include <unistd.h>

#include <cerrno>

#include "tracker/base/errno_keeper.h"
#endif

namespace allomon::internal::sys {

// Returns the kernel's result: a value, or a negative errno, from -4095 on.  Async-signal-safe.
// Cost: the call itself.
inline long SystemCall6(long number, long a, long b, long c, long d, long e, long f) {
#ifdef __x86_64__
  long result;
  register long in_r10 __asm__("r10") = d;
  register long in_r8 __asm__("r8") = e;
  register long in_r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(in_r10), "r"(in_r8), "r"(in_r9)
                   : "rcx", "r11", "memory");
  return result;
#else
  const ErrnoKeeper keeper;
  const long result = syscall(number, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
#endif
}

template <typename Value>
long AsWord(Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

// Makes a system call with up to six arguments: numbers, and pointers.
template <typename... Values>
long SystemCall(long number, Values... values) {
  static_assert(sizeof...(values) <= 6);
  const long words[6 + 1] = {AsWord(values)...};
  return SystemCall6(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // namespace allomon::internal::sys

#endif  // ALLOMON_TRACKER_BASE_SYS_SYSTEM_CALL_H_
