// Explains in words why a profile of bytes covers little of a program's memory.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_EXPLAIN_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_EXPLAIN_H_

#include <string>

namespace allomon {

struct SeenMemory {
  double bytes = 0;     // in the profile
  bool live = false;    // those that are live now, not all that were allocated
  double rate = 0;      // samples per word
  bool mapped = false;  // mappings that the program made itself were counted, too (ALLOMON_MMAP=1)
};

// Returns one line, or an empty string if there is nothing to explain.  Explains a profile without
// samples, or with less than a quarter of the process's resident anonymous memory (at its maximum,
// if the bytes are all that were allocated), provided that this memory is 32 MiB or more.  Reads
// /proc/self/status; allocates.
std::string WhySoLittle(const SeenMemory& seen);

// Whether the program is a Go program that uses C.  Go's runtime makes system calls directly to end
// a program and to catch signals, so no profile can be written.  Any thread; allocates nothing.
bool IsOfGo();

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_EXPLAIN_H_
