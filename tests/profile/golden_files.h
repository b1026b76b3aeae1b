#ifndef ALLOMON_TESTS_PROFILE_GOLDEN_FILES_H_
#define ALLOMON_TESTS_PROFILE_GOLDEN_FILES_H_

#include <string>
#include <vector>

namespace allomon::testing {

// Returns the whole file; ends the test program if it cannot be read, so that a test without its
// data cannot pass.
std::string ReadFileOrDie(const std::string& path);

// An absolute path: tests/golden/mlton/PROGRAM.txt holds the files of PROGRAM's cases, which are
// unpacked to a directory of this test's own at the first call.
std::string GoldenPath(const std::string& relative);

// Returns the paths below tests/golden/mlton whose names end in `suffix`: sorted, at least one.
std::vector<std::string> GoldenFiles(const std::string& suffix);

// Returns a new empty directory for this test alone.
std::string NewDirectory();

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_PROFILE_GOLDEN_FILES_H_
