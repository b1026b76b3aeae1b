#ifndef ALLOMON_TOOLS_MLPROF_ASK_SOURCES_H_
#define ALLOMON_TOOLS_MLPROF_ASK_SOURCES_H_

#include <string>

namespace allomon::mlprof {

// Runs `executable @MLton show-sources`, without a shell or a search of PATH,
// and returns what it prints.  How it ends does not matter: an answer is judged
// by its text, and a program that cannot be run gives an empty one.
//
// The child gets this process's directory, environment and standard error.  Its
// standard input is an empty pipe.  Waits until every process that holds the
// child's standard output has closed it.
std::string AskSources(const std::string& executable);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_ASK_SOURCES_H_
