// Finds files of processes that have ended without removing them.
#ifndef ALLOMON_TOOLS_CONTROL_LEFTOVERS_H_
#define ALLOMON_TOOLS_CONTROL_LEFTOVERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::control {

struct Leftover {
  std::string path;
  uint32_t pid = 0;
  bool is_recording = false;  // false: a control page
};

// Returns this user's files of ended processes, in the folders of control pages.  Leaves out files
// of another container if its processes are not visible.
std::vector<Leftover> Leftovers();

// ---- Finds notes of processes on profiles that they could not write, and could not report
// otherwise.

struct FoundLossNote {
  std::string path;  // path of the note
  std::string line;  // which profile was lost, when and why; "" if nothing was lost yet
};

// Returns this user's notes, the oldest first.  For root, returns all users' notes, because a
// daemon may have become another user.
std::vector<FoundLossNote> LossNotes();

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_LEFTOVERS_H_
