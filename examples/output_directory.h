// The directory in which the user typed the command, for all examples.
#ifndef ALLOMON_EXAMPLES_OUTPUT_DIRECTORY_H_
#define ALLOMON_EXAMPLES_OUTPUT_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace examples {

// `bazel run` starts a program in a directory of its own.  This variable holds the user's
// directory.
inline std::string InOutputDirectory(const std::string& file) {
  const char* directory = getenv("BUILD_WORKING_DIRECTORY");
  // An absolute path in either case: the examples print a `bazel run` of mlprof, which runs in yet
  // another directory.
  return directory == nullptr ? std::filesystem::absolute(file).string()
                              : std::string(directory) + "/" + file;
}

}  // namespace examples

#endif  // ALLOMON_EXAMPLES_OUTPUT_DIRECTORY_H_
