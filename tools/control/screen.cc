#include "tools/control/screen.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>

#include "tools/text/terminal.h"

namespace allomon::control {
namespace {

// ncurses' binary interface, version 6, which has been the same since 2015.
constexpr int kReverse = 1 << 18;
constexpr int kDim = 1 << 20;
constexpr int kBold = 1 << 21;
constexpr int kEscapeMilliseconds = 25;  // after an escape the rest of a key's sequence comes

struct Curses {
  void* (*newterm)(const char* type, FILE* out, FILE* in);
  void (*delscreen)(void* screen);
  int (*endwin)();
  int (*raw)();
  int (*noecho)();
  int (*nonl)();
  int (*curs_set)(int visibility);
  int (*set_escdelay)(int milliseconds);
  void* (*newwin)(int lines, int columns, int row, int column);
  int (*delwin)(void* window);
  int (*keypad)(void* window, bool on);
  void (*wtimeout)(void* window, int milliseconds);
  int (*wgetch)(void* window);
  int (*wmove)(void* window, int row, int column);
  int (*wclrtoeol)(void* window);
  int (*wattrset)(void* window, int attributes);
  int (*waddnstr)(void* window, const char* text, int bytes);
  int (*wrefresh)(void* window);
  int (*getmaxx)(const void* window);
  int (*getmaxy)(const void* window);
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// The library stays loaded: it has handlers of signals.
bool Load(Curses* curses) {
  void* const library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && Find(library, "newterm", &curses->newterm) &&
         Find(library, "delscreen", &curses->delscreen) &&
         Find(library, "endwin", &curses->endwin) && Find(library, "raw", &curses->raw) &&
         Find(library, "noecho", &curses->noecho) && Find(library, "nonl", &curses->nonl) &&
         Find(library, "curs_set", &curses->curs_set) &&
         Find(library, "set_escdelay", &curses->set_escdelay) &&
         Find(library, "newwin", &curses->newwin) && Find(library, "delwin", &curses->delwin) &&
         Find(library, "keypad", &curses->keypad) && Find(library, "wtimeout", &curses->wtimeout) &&
         Find(library, "wgetch", &curses->wgetch) && Find(library, "wmove", &curses->wmove) &&
         Find(library, "wclrtoeol", &curses->wclrtoeol) &&
         Find(library, "wattrset", &curses->wattrset) &&
         Find(library, "waddnstr", &curses->waddnstr) &&
         Find(library, "wrefresh", &curses->wrefresh) &&
         Find(library, "getmaxx", &curses->getmaxx) && Find(library, "getmaxy", &curses->getmaxy);
}

// Key codes of <curses.h>, which are octal there.
enum CursesKey : int {
  kCodeDown = 0402,
  kCodeUp = 0403,
  kCodeLeft = 0404,
  kCodeRight = 0405,
  kCodeHome = 0406,
  kCodeBackspace = 0407,
  kCodePageDown = 0522,
  kCodePageUp = 0523,
  kCodeEnter = 0527,
  kCodeEnd = 0550,
  kCodeResize = 0632,
};
constexpr int kInterrupt = 3;  // ^C, which the terminal hands on

Input InputOf(int code) {
  constexpr int kEscape = 27, kDelete = 127;
  switch (code) {
    case kCodeUp:
      return {Key::kUp, 0};
    case kCodeDown:
      return {Key::kDown, 0};
    case kCodePageUp:
      return {Key::kPageUp, 0};
    case kCodePageDown:
      return {Key::kPageDown, 0};
    case kCodeHome:
      return {Key::kHome, 0};
    case kCodeEnd:
      return {Key::kEnd, 0};
    case kCodeEnter:
    case kCodeRight:
    case '\r':
    case '\n':
      return {Key::kEnter, 0};
    case kCodeLeft:
    case kEscape:
      return {Key::kBack, 0};
    case kCodeBackspace:
    case kDelete:
    case '\b':
      return {Key::kErase, 0};
    case kInterrupt:
      return {Key::kText, kInterrupt};
    default:
      return code >= ' ' && code <= 0xff ? Input{Key::kText, static_cast<char>(code)} : Input{};
  }
}

class CursesScreen final : public Screen {
 public:
  CursesScreen(const Curses& curses, void* screen, Charset charset)
      : curses_(curses), screen_(screen), charset_(charset) {
    curses_.set_escdelay(kEscapeMilliseconds);
    curses_.raw();
    curses_.noecho();
    curses_.nonl();
    curses_.curs_set(0);
    OpenWindow();
  }
  ~CursesScreen() override {
    curses_.delwin(window_);
    curses_.endwin();
    curses_.delscreen(screen_);
  }

  int rows() const override { return std::max(curses_.getmaxy(window_), 1); }
  int columns() const override { return std::max(curses_.getmaxx(window_), 1); }
  Charset charset() const override { return charset_; }

  void Put(int row, const std::string& text, LineStyle style) override {
    if (row >= rows()) return;
    curses_.wmove(window_, row, 0);
    curses_.wattrset(window_, AttributesOf(style));
    std::string line = CutToBeginning(text, columns(), charset_);
    if (style == LineStyle::kChosen || style == LineStyle::kHead) {
      line.append(static_cast<size_t>(std::max(columns() - Columns(line), 0)), ' ');
    }
    curses_.waddnstr(window_, line.data(), static_cast<int>(line.size()));
    curses_.wattrset(window_, 0);
    // A line of the screen's width has put the cursor at the begin of the next one.
    if (Columns(line) < columns()) curses_.wclrtoeol(window_);
  }

  void Show() override { curses_.wrefresh(window_); }

  Input Read(double seconds) override {
    curses_.wtimeout(window_, static_cast<int>(std::max(seconds, 0.0) * 1000));
    const int code = curses_.wgetch(window_);
    if (code != kCodeResize) return InputOf(code);
    curses_.delwin(window_);
    OpenWindow();
    return {};
  }

 private:
  void OpenWindow() {
    window_ = curses_.newwin(0, 0, 0, 0);
    curses_.keypad(window_, true);
  }

  static int AttributesOf(LineStyle style) {
    switch (style) {
      case LineStyle::kPlain:
        return 0;
      case LineStyle::kTitle:
        return kBold;
      case LineStyle::kHead:
      case LineStyle::kDim:
        return kDim;
      case LineStyle::kChosen:
        return kReverse;
    }
    return 0;
  }

  const Curses curses_;
  void* const screen_;
  const Charset charset_;
  void* window_ = nullptr;
};

}  // namespace

std::unique_ptr<Screen> OpenScreen() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return nullptr;
  Curses curses;
  if (!Load(&curses)) return nullptr;
  // ncurses writes characters of the locale: where that is missing, there is no UTF-8.
  const bool has_locale = setlocale(LC_CTYPE, "") != nullptr && MB_CUR_MAX > 1;
  const Charset charset = has_locale ? report::ThisTerminal().charset : Charset::kAscii;
  void* const screen = curses.newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return nullptr;
  return std::make_unique<CursesScreen>(curses, screen, charset);
}

}  // namespace allomon::control
