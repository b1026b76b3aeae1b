#include "tests/profile/golden_files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace allomon::testing {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Die(const std::string& message) {
  fprintf(stderr, "%s\n", message.c_str());
  abort();
}

// Bazel starts tests in the workspace's runfiles; tests may change directory
// later.
const fs::path& Root() {
  static const fs::path& root = *new fs::path(fs::current_path());
  return root;
}
[[maybe_unused]] const fs::path& root_at_start = Root();

}  // namespace

std::string ReadFileOrDie(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) Die("cannot read " + path);
  return text.str();
}

std::string GoldenPath(const std::string& relative) {
  return (Root() / "tests/golden/mlton" / relative).string();
}

std::vector<std::string> GoldenFiles(const std::string& suffix) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(GoldenPath(""))) {
    const std::string path = entry.path().string();
    if (path.size() >= suffix.size() &&
        path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
      files.push_back(path);
    }
  }
  if (files.empty()) Die("no golden file *" + suffix);
  std::sort(files.begin(), files.end());
  return files;
}

std::string NewDirectory() {
  const char* base = getenv("TEST_TMPDIR");
  std::string path = std::string(base ? base : "/tmp") + "/allomon-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) Die("cannot make " + path);
  return path;
}

}  // namespace allomon::testing
