#ifndef ALLOMON_TOOLS_MLMON_ASK_SOURCES_H_
#define ALLOMON_TOOLS_MLMON_ASK_SOURCES_H_

#include <string>

namespace allomon::mlprof {

// Runs `executable @MLton show-sources`, without a shell or a search of PATH, and returns its
// output.  The exit status is ignored: the caller judges the answer by its text.  A program that
// cannot be run gives an empty answer.
//
// The child gets this process's directory, environment and standard error.  Its standard input is
// an empty pipe.  The call waits until every process that holds the child's standard output has
// closed it.
std::string AskSources(const std::string& executable);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLMON_ASK_SOURCES_H_
