// The terminal or file to which a report is written.
#ifndef ALLOMON_TOOLS_TEXT_TERMINAL_H_
#define ALLOMON_TOOLS_TEXT_TERMINAL_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

struct Terminal {
  bool is_terminal = false;   // true if standard output is a terminal
  int columns = 0;            // 0: unknown
  int lines = 0;              // 0: unknown
  bool color_wanted = false;  // true if --color=auto means colour
  Charset charset = Charset::kUtf8;
  bool shows_progress = false;  // true if standard error is a terminal, too
};

// Reads standard output, standard error and these variables: NO_COLOR (not empty: no colour,
// no-color.org), TERM=dumb (no colour), LC_ALL, LC_CTYPE, LANG (the charset; ASCII if all are
// unset).
Terminal ThisTerminal();

// A line on standard error.  The next line, or the destructor, erases it.
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

#endif  // ALLOMON_TOOLS_TEXT_TERMINAL_H_
