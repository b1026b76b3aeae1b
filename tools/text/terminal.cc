#include "tools/text/terminal.h"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace allomon::report {
namespace {

std::string_view Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the locale of characters.  POSIX: the first of these variables that is set and not empty
// decides.
std::string_view CharacterLocale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!Variable(name).empty()) return Variable(name);
  }
  return "";
}

Charset LocaleCharset() {
  const std::string locale(CharacterLocale());
  const size_t dot = locale.find('.');
  if (dot == std::string::npos) return Charset::kAscii;
  const std::string codeset = locale.substr(dot + 1, locale.find('@', dot) - dot - 1);
  const bool is_utf8 =
      strcasecmp(codeset.c_str(), "UTF-8") == 0 || strcasecmp(codeset.c_str(), "utf8") == 0;
  return is_utf8 ? Charset::kUtf8 : Charset::kAscii;
}

}  // namespace

Terminal ThisTerminal() {
  Terminal terminal;
  terminal.is_terminal = isatty(STDOUT_FILENO) != 0;
  const bool dumb = Variable("TERM") == "dumb";
  terminal.color_wanted = terminal.is_terminal && Variable("NO_COLOR").empty() && !dumb;
  terminal.shows_progress = isatty(STDERR_FILENO) != 0 && !dumb;
  terminal.charset = LocaleCharset();
  winsize size = {};
  if (terminal.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    terminal.columns = size.ws_col;
    terminal.lines = size.ws_row;
  }
  return terminal;
}

// Writes CR, then the sequence of ECMA-48 that erases to the end of the line (EL).
void Progress::Show(const std::string& line) {
  if (!enabled_ || (line.empty() && !shown_)) return;
  shown_ = !line.empty();
  fprintf(stderr, "\r\033[K%s", line.c_str());
  fflush(stderr);
}

}  // namespace allomon::report
