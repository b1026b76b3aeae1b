// Why a program did not load the library that was preloaded.
#ifndef ALLOMON_TOOLS_RUN_WHY_UNRECORDED_H_
#define ALLOMON_TOOLS_RUN_WHY_UNRECORDED_H_

#include <string>

namespace allomon::run {

// The file that a shell would execute for `command`; `command` itself if there is none.
std::string PathOfCommand(const std::string& command);

// Half a sentence, behind the program's name: "is linked statically, ...".  Reads a few kilobytes
// of the file.
std::string WhyUnrecorded(const std::string& path);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WHY_UNRECORDED_H_
