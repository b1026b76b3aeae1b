// Tests the command itself: which output goes where, and the exit status.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/profile/golden_files.h"
#include "tests/tools/fake_program.h"

namespace allomon::mlprof {
namespace {

// The path is taken before any test changes the directory.
const std::string& Binary() {
  static const std::string& path =
      *new std::string(std::filesystem::current_path().string() + "/tools/mlprof/mlprof");
  return path;
}
[[maybe_unused]] const std::string& binary_at_start = Binary();

class MlprofBinaryTest : public testing::FakeProgramTest {
 protected:
  // Returns the exit status.  Output goes to the files `out` and `err`.
  static int Run(const std::string& args, const std::string& out = "out") {
    const int status = system((Binary() + " " + args + " >" + out + " 2>err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(MlprofBinaryTest, TableOnStandardOutput) {
  EXPECT_EQ(Run("prog mlmon.out"), 0);
  EXPECT_EQ(testing::ReadFileOrDie("out").substr(0, 9), "90 bytes ");
  EXPECT_EQ(testing::ReadFileOrDie("err"), "");
}

TEST_F(MlprofBinaryTest, ErrorOnStandardErrorAndExitStatusOne) {
  EXPECT_EQ(Run("missing mlmon.out"), 1);
  EXPECT_EQ(testing::ReadFileOrDie("out"), "");
  EXPECT_EQ(testing::ReadFileOrDie("err"), "Error: executable 'missing' does not exist.\n");
  EXPECT_EQ(Run(""), 1);
}

TEST_F(MlprofBinaryTest, WarningsOfATolerantRunExitWithZero) {
  EXPECT_EQ(Run("-tolerant true prog none mlmon.out"), 0);
  EXPECT_NE(testing::ReadFileOrDie("err"), "");
  EXPECT_NE(testing::ReadFileOrDie("out"), "");
}

TEST_F(MlprofBinaryTest, TableThatCannotBeWrittenIsNoSuccess) {
  EXPECT_EQ(Run("prog mlmon.out", "/dev/full"), 1);
  EXPECT_EQ(testing::ReadFileOrDie("err"),
            "mlprof: cannot write standard output: No space left on device\n");
}

TEST_F(MlprofBinaryTest, GraphOnStandardOutputComesBeforeTheTable) {
  EXPECT_EQ(Run("-call-graph /dev/stdout prog mlmon.out | cat"), 0);
  const std::string out = testing::ReadFileOrDie("out");
  EXPECT_EQ(out.substr(0, 7), "digraph");
  EXPECT_NE(out.find("}90 bytes"), std::string::npos);
}

}  // namespace
}  // namespace allomon::mlprof
