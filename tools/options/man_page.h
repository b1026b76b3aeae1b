// Manual pages, in the macros of man(7).  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_MAN_PAGE_H_
#define ALLOMON_TOOLS_OPTIONS_MAN_PAGE_H_

#include <string>

#include "tools/options/command_text.h"

namespace allomon::options {

// allomon-COMMAND(1).
std::string ManPageOf(const CommandText& command, const ProgramText& program);

// allomon(1).
std::string ManPageOf(const ProgramText& program);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_MAN_PAGE_H_
