// Explains why a program did not load the preloaded library.
#ifndef ALLOMON_TOOLS_RUN_WHY_UNRECORDED_H_
#define ALLOMON_TOOLS_RUN_WHY_UNRECORDED_H_

#include <string>

namespace allomon::run {

// Returns the file that a shell would execute for `command`; `command` itself if the shell would
// find no file.
std::string PathOfCommand(const std::string& command);

// Returns half a sentence that continues the program's name: "is linked statically, ...".  Reads a
// few kilobytes of the file.
std::string WhyUnrecorded(const std::string& path);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WHY_UNRECORDED_H_
