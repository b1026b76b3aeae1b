#include "tools/report/table/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tracker/names/base_name.h"

namespace allomon::views {
namespace {

constexpr off_t kMostBytes = off_t{16} << 20;
constexpr size_t kMostEnds = 64;

class Descriptor {
 public:
  // Opens without waiting for a pipe or a device.
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool IsReadable() const {
    struct stat about = {};
    return number_ >= 0 && fstat(number_, &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_size <= kMostBytes;
  }

  std::string Text() const {
    std::string text;
    char buffer[65536];
    ssize_t got = 0;
    while (static_cast<off_t>(text.size()) <= kMostBytes &&
           (got = read(number_, buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }

 private:
  const int number_;
};

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::optional<SourceFile> Read(const std::string& path) {
  const Descriptor file(path);
  if (!file.IsReadable()) return std::nullopt;
  return SourceFile{path, LinesOf(file.Text())};
}

}  // namespace

absl::StatusOr<SourceFile> FindSource(const std::string& path) {
  if (auto found = Read(path)) return *std::move(found);
  size_t slash = path.find('/');
  for (size_t ends = 0; slash != std::string::npos && ends < kMostEnds; ++ends) {
    const std::string end = path.substr(slash + 1);
    if (!end.empty() && end[0] != '/') {
      if (auto found = Read(end)) return *std::move(found);
    }
    slash = path.find('/', slash + 1);
  }
  return absl::NotFoundError("there is no " + path + ", and none of its ends (" + BaseName(path) +
                             ") below the current folder: run the command where the sources are");
}

}  // namespace allomon::views
