// Finds notes of processes on profiles that they could not write, and could not report otherwise.
#ifndef ALLOMON_TOOLS_CONTROL_LOSS_NOTES_H_
#define ALLOMON_TOOLS_CONTROL_LOSS_NOTES_H_

#include <string>
#include <vector>

namespace allomon::control {

struct FoundLossNote {
  std::string path;  // path of the note
  std::string line;  // which profile was lost, when and why; "" if nothing was lost yet
};

// Returns this user's notes, the oldest first.  For root, returns all users' notes, because a
// daemon may have become another user.
std::vector<FoundLossNote> LossNotes();

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_LOSS_NOTES_H_
