// What `allomon run` shows on a terminal while its program runs.
#ifndef ALLOMON_TOOLS_RUN_PROGRESS_LINE_H_
#define ALLOMON_TOOLS_RUN_PROGRESS_LINE_H_

#include <string>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::run {

// Standard error, if that is a terminal: a line that is rewritten.  Where standard output is a
// terminal, too, a program that runs writes there, and a line would be in its text: then it is the
// title of the terminal's window, if it has one.  Nothing while this process is in the background.
//
// The destructor wipes the line out and restores the title.
class ProgressLine {
 public:
  enum class Who { kProgram, kNobody };  // may write to the terminal meanwhile

  ProgressLine(bool is_wanted, Who who);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool IsShown() const { return place_ != Place::kNowhere; }
  void Show(const std::string& text);

 private:
  enum class Place { kNowhere, kLine, kTitle };
  static Place PlaceBeside(Who who);

  const Place place_;
  bool shown_ = false;
};

// "12.3 s, live 81.7 MiB, peak 90.1 MiB, 12,345 samples, 3 processes".  The peaks of processes need
// not have been at one time; theirs are added.
std::string ProgressText(double seconds, const std::vector<recording::ProcessTotals>& processes);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_PROGRESS_LINE_H_
