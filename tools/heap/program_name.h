// The name by which people know a program.  A pure function.
#ifndef ALLOMON_TOOLS_HEAP_PROGRAM_NAME_H_
#define ALLOMON_TOOLS_HEAP_PROGRAM_NAME_H_

#include <string>
#include <string_view>

namespace allomon::heap {

// The script that an interpreter runs, else the last part of the command's first word, else of the
// executable's path, which is where a link leads: "serve" of /usr/bin/python3.11 and "python3
// /srv/serve --port=1", "redis-server" of /usr/bin/redis-check-rdb and "redis-server *:6379".
// `command` is the words of a command line with blanks between them; it may be cut, or empty.
std::string ProgramName(std::string_view executable, std::string_view command);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_PROGRAM_NAME_H_
