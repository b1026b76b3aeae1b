// Repeats every recorded run of MLton's own mlprof.  Tables and graphs must agree to the last byte.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/profile/golden_files.h"
#include "tests/tools/fake_program.h"
#include "tools/mlprof/mlprof.h"

namespace allomon::mlprof {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words;
  size_t start = 0;
  for (size_t end; (end = line.find(' ', start)) != std::string::npos; start = end + 1) {
    if (end > start) words.push_back(line.substr(start, end - start));
  }
  words.push_back(line.substr(start));
  return words;
}

bool IsBalanced(const std::string& text) {
  return std::count(text.begin(), text.end(), '(') == std::count(text.begin(), text.end(), ')');
}

// Splits a recorded line, which lacks quotes.  An argument of -keep goes on until its parentheses
// are closed, a title until the next option.
std::vector<std::string> Arguments(const std::string& line) {
  const std::vector<std::string> words = Words(line);
  std::vector<std::string> args;
  for (size_t i = 2; i < words.size();) {
    args.push_back(words[i++]);
    if (args.back() == "-keep") {
      args.push_back(words[i++]);
      while (!IsBalanced(args.back())) args.back() += " " + words[i++];
    } else if (args.back() == "-graph-title") {
      args.push_back(words[i++]);
      while (words[i][0] != '-') args.back() += " " + words[i++];
    }
  }
  return args;
}

class MlprofGoldenTest : public testing::FakeProgramTest {
 protected:
  // Makes this directory that of the golden case, with its executable under all names.
  void Enter(const fs::path& golden_case) {
    const std::string answer = testing::ReadFileOrDie(golden_case / "sources.txt");
    for (const char* name : {"fib-tak", "fib-tak-time", "list-rev", "list-rev-time"}) {
      Write(name, "#!/bin/sh\nexec tail -n +3 \"$0\"\n" + answer, 0755);
    }
    for (const auto& file : fs::directory_iterator(golden_case)) {
      if (file.path().extension() == ".out") {
        Write(file.path().filename(), testing::ReadFileOrDie(file.path()));
      }
    }
    fs::create_directory("out");
    case_ = golden_case;
  }

  static void Check(const fs::path& command) {
    const std::string text = testing::ReadFileOrDie(command);
    const std::string line = text.substr(0, text.find('\n'));
    ASSERT_EQ(text, line + "\nrc=0\n");
    const Result result = RunMlprof(Arguments(line));
    EXPECT_TRUE(result.success) << command << "\n" << result.err;
    EXPECT_EQ(result.out, Expected(command, ".txt")) << command;
    const fs::path dot = fs::path(command).replace_extension(".dot");
    if (!fs::exists(dot)) return;
    EXPECT_EQ(testing::ReadFileOrDie("out" / dot.filename()), testing::ReadFileOrDie(dot))
        << command;
  }

  static std::string Expected(fs::path command, const char* extension) {
    return testing::ReadFileOrDie(command.replace_extension(extension));
  }

  fs::path case_;
};

TEST_F(MlprofGoldenTest, EveryTableAndGraph) {
  int count = 0;
  for (const std::string& command : testing::GoldenFiles(".cmd")) {
    const fs::path golden_case = fs::path(command).parent_path().parent_path();
    if (golden_case != case_) Enter(golden_case);
    Check(command);
    ++count;
  }
  EXPECT_EQ(count, 402);
}

}  // namespace
}  // namespace allomon::mlprof
