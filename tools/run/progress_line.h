// The progress of `allomon run` on a terminal.
#ifndef ALLOMON_TOOLS_RUN_PROGRESS_LINE_H_
#define ALLOMON_TOOLS_RUN_PROGRESS_LINE_H_

#include <string>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::run {

// Shows progress on standard error, if that is a terminal, as a line that is rewritten.  A running
// program may write to standard output; if that is a terminal too, such a line would get into its
// text.  Then the title of the terminal's window shows the progress, if it has one.  Shows nothing
// while this process is in the background.
//
// The destructor erases the line and restores the title.
class ProgressLine {
 public:
  enum class Who { kProgram, kNobody };  // which program may write to the terminal at the same time

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

// Returns "12.3 s, live 81.7 MiB, peak 90.1 MiB, 12,345 samples, 3 processes".  Adds the peaks of
// all processes, which need not have been at the same time.
std::string ProgressText(double seconds, const std::vector<recording::ProcessTotals>& processes);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_PROGRESS_LINE_H_
