// Shared by the examples: where the user typed the command.
#ifndef ALLOMON_EXAMPLES_OUTPUT_DIRECTORY_H_
#define ALLOMON_EXAMPLES_OUTPUT_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace examples {

// `bazel run` starts a program in a directory of its own and says in this variable where
// the user is.
inline std::string InOutputDirectory(const std::string& file) {
  const char* directory = getenv("BUILD_WORKING_DIRECTORY");
  // Whole in either case: `bazel run` of mlprof, which we print, is in another directory again.
  return directory == nullptr ? std::filesystem::absolute(file).string()
                              : std::string(directory) + "/" + file;
}

}  // namespace examples

#endif  // ALLOMON_EXAMPLES_OUTPUT_DIRECTORY_H_
