// Where a report goes.
#ifndef ALLOMON_TOOLS_REPORT_TERMINAL_H_
#define ALLOMON_TOOLS_REPORT_TERMINAL_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

struct Terminal {
  bool is_terminal = false;   // standard output
  int columns = 0;            // 0: not known
  int lines = 0;              // 0: not known
  bool color_wanted = false;  // by --color=auto
  Charset charset = Charset::kUtf8;
  bool shows_progress = false;  // standard error is a terminal too
};

// From standard output, standard error and the environment: NO_COLOR (not empty: no colour,
// no-color.org), TERM=dumb (likewise), LC_ALL, LC_CTYPE, LANG (charset; none set: ASCII).
Terminal ThisTerminal();

// A line on standard error that the next one, or the end of the object, wipes out.
class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress() { Show(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& line);

 private:
  const bool enabled_;
  bool shown_ = false;
};

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_TERMINAL_H_
