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
const fs::path& Archives() {
  static const fs::path& archives = *new fs::path(fs::current_path() / "tests/golden/mlton");
  return archives;
}
[[maybe_unused]] const fs::path& archives_at_start = Archives();

void Write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) Die("cannot write " + path.string());
}

// An archive is a row of "@@ NAME SIZE\n", SIZE bytes, "\n".
void Unpack(const fs::path& archive, const fs::path& directory) {
  const std::string text = ReadFileOrDie(archive);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const size_t blank = text.rfind(' ', end);
    if (text.compare(at, 3, "@@ ") != 0 || end == text.npos || blank <= at + 3) {
      Die(archive.string() + ": no file begins at byte " + std::to_string(at));
    }
    const size_t size_bytes = std::stoul(text.substr(blank + 1, end - blank - 1));
    if (end + 1 + size_bytes >= text.size() || text[end + 1 + size_bytes] != '\n') {
      Die(archive.string() + ": the file at byte " + std::to_string(at) + " is cut off");
    }
    Write(directory / text.substr(at + 3, blank - at - 3), text.substr(end + 1, size_bytes));
    at = end + 1 + size_bytes + 1;
  }
}

// The directory to which all archives have been unpacked.
const fs::path& Root() {
  static const fs::path& root = *new fs::path([] {
    const fs::path directory = NewDirectory();
    for (const auto& entry : fs::directory_iterator(Archives())) {
      if (entry.path().extension() == ".txt") Unpack(entry.path(), directory);
    }
    return directory;
  }());
  return root;
}

}  // namespace

std::string ReadFileOrDie(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) Die("cannot read " + path);
  return text.str();
}

std::string GoldenPath(const std::string& relative) { return (Root() / relative).string(); }

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
