// A terminal: a program writes its whole screen, and reads its keys.
//
// It is ncurses', which is loaded when it is asked for (Debian's libncursesw6, which nearly every
// machine has), as libcurl is: commands that never show an interface need no library of it.
// One object at a time, on one thread.
#ifndef ALLOMON_TOOLS_CONTROL_SCREEN_H_
#define ALLOMON_TOOLS_CONTROL_SCREEN_H_

#include <memory>
#include <string>

#include "tools/text/plain_text.h"

namespace allomon::control {

enum class Key { kNone, kText, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kBack, kErase };

struct Input {
  Key key = Key::kNone;
  char byte = 0;  // of kText: ASCII, or a part of a character
};

enum class LineStyle { kPlain, kTitle, kHead, kDim, kChosen };

class Screen {
 public:
  virtual ~Screen() = default;

  virtual int rows() const = 0;
  virtual int columns() const = 0;
  virtual Charset charset() const = 0;

  // Writes a line over what stood there.  `text` is printable, and cut at the screen's edge.  A row
  // that the screen does not have is left out.
  virtual void Put(int row, const std::string& text, LineStyle style) = 0;

  // Shows all that was put since the last time.
  virtual void Show() = 0;

  // Waits for a key, for so long at most.  kNone: no key came, or the size has changed.
  virtual Input Read(double seconds) = 0;
};

// Takes the terminal of standard input and output; the destructor gives it back.  Null, and nothing
// has changed, if these are no terminal, if its kind (TERM) is not known, or without ncurses.
std::unique_ptr<Screen> OpenScreen();

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_SCREEN_H_
