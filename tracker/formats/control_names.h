// Names of control pages and of the recordings in their folder.
//
// Containers may share a folder, and each has a process 1.  So a name contains the number of the
// pid namespace too, unless it is the machine's first one.
//
// Plain values; nothing here allocates.
#ifndef ALLOMON_TRACKER_FORMATS_CONTROL_NAMES_H_
#define ALLOMON_TRACKER_FORMATS_CONTROL_NAMES_H_

#include <cstdint>
#include <cstring>

#include "tracker/formats/control_layout.h"

namespace allomon::control {

// The file whose inode is the number of a process's pid namespace.
inline constexpr const char* kOwnPidNamespace = "/proc/self/ns/pid";
// The machine's first pid namespace: the kernel's PROC_PID_INIT_INO.
inline constexpr uint64_t kFirstPidNamespace = 0xeffffffc;

// A text such as "/allomon-4711" or "/allomon-1.4026532194".
struct ControlStem {
  char text[64];
};

// Writes digits and a zero, and returns the place of the zero.
inline char* WriteDigits(char* at, uint64_t number) {
  if (number >= 10) at = WriteDigits(at, number / 10);
  at[0] = static_cast<char>('0' + number % 10);
  at[1] = '\0';
  return at + 1;
}

// Writes the text after the process's number, with a zero; 0: the namespace is not known.
inline void WriteNamespace(char* at, uint64_t pid_namespace) {
  *at = '\0';
  if (pid_namespace == 0 || pid_namespace == kFirstPidNamespace) return;
  *at = '.';
  WriteDigits(at + 1, pid_namespace);
}

// `pid` as its namespace numbers it.
inline ControlStem ControlStemOf(uint32_t pid, uint64_t pid_namespace) {
  ControlStem stem;
  const size_t prefix_length = strlen(kNamePrefix);
  memcpy(stem.text, kNamePrefix, prefix_length);
  WriteNamespace(WriteDigits(stem.text + prefix_length, pid), pid_namespace);
  return stem;
}

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_FORMATS_CONTROL_NAMES_H_
