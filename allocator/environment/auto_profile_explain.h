// Why a profile of bytes has little of what a program uses, in words.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_EXPLAIN_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_EXPLAIN_H_

#include <string>

namespace allomon {

struct SeenMemory {
  double bytes = 0;     // in the profile
  bool live = false;    // those that are live now, not all that were allocated
  double rate = 0;      // samples per word
  bool mapped = false;  // mappings of the program's own were counted, too (ALLOMON_MMAP=1)
};

// One line, or empty where there is nothing to explain: no sample at all, or less than a quarter of
// the anonymous memory that the process has resident (or had, where it was most, if the bytes are
// all that were allocated), if that is 32 MiB or more.  Reads /proc/self/status; allocates.
std::string WhySoLittle(const SeenMemory& seen);

// Whether the program is one of Go's, with C in it: Go's runtime ends a program by a system call,
// and takes all signals by one, too, so no profile can be written.  Any thread; allocates nothing.
bool IsOfGo();

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_EXPLAIN_H_
