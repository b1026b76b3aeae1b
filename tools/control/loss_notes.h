// Profiles that processes could not write, and could not say so.
#ifndef ALLOMON_TOOLS_CONTROL_LOSS_NOTES_H_
#define ALLOMON_TOOLS_CONTROL_LOSS_NOTES_H_

#include <string>
#include <vector>

namespace allomon::control {

struct FoundLossNote {
  std::string path;  // of the note
  std::string line;  // which profile was lost, when and why; "" of a note that waits for a loss
};

// This user's, and for root all users': a daemon may have become another one.  The oldest first.
std::vector<FoundLossNote> LossNotes();

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_LOSS_NOTES_H_
