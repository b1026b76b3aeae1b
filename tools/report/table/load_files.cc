#include "tools/report/table/load_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "tools/load/import.h"
#include "tools/load/load.h"

namespace allomon::views {
namespace {

constexpr size_t kHeadBytes = 4096;

// Returns the first bytes of a regular file.  Returns "" for a pipe, since it can be read only
// once.
std::string HeadOf(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return "";
  std::string head(kHeadBytes, '\0');
  struct stat about = {};
  const bool is_regular = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const ssize_t got = is_regular ? read(file, head.data(), head.size()) : 0;
  close(file);
  head.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return head;
}

bool IsPipe(const std::string& path) {
  struct stat about = {};
  return stat(path.c_str(), &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode));
}

}  // namespace

FileKind KindOf(const std::string& path) {
  if (path == "-" || IsPipe(path) || load::ProcessOf(path) != 0) return FileKind::kHeapProfile;
  const std::string head = HeadOf(path);
  if (interchange::LooksLikeMlmon(head)) return FileKind::kMlmon;
  return load::LooksLikeHeapProfile(head) ? FileKind::kHeapProfile : FileKind::kOther;
}

absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const NameSources& name_sources,
                                          report::Progress* progress) {
  load::LoadOptions options;
  options.name_sources = name_sources;
  return load::LoadSum(files, options, progress);
}

}  // namespace allomon::views
