// Files of processes that have ended without removing them.
#ifndef ALLOMON_TOOLS_CONTROL_LEFTOVERS_H_
#define ALLOMON_TOOLS_CONTROL_LEFTOVERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::control {

struct Leftover {
  std::string path;
  uint32_t pid = 0;
  bool is_recording = false;  // else a control page
};

// This user's, in the folders where control pages are, of processes that are no more.  Another
// container's are left out where its processes are not seen.
std::vector<Leftover> Leftovers();

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_LEFTOVERS_H_
