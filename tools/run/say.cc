#include "tools/run/say.h"

#include <cstdio>

#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

namespace allomon::run {

std::string Message(const std::string& line) {
  return "allomon run: " + Printable(line, report::ThisTerminal().charset) + "\n";
}

void Say(const std::string& line) { fputs(Message(line).c_str(), stderr); }

}  // namespace allomon::run
