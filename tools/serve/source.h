// Which recordings are served.
#ifndef ALLOMON_TOOLS_SERVE_SOURCE_H_
#define ALLOMON_TOOLS_SERVE_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::serve {

struct RecordingFile {
  std::string path;
  std::string name;  // without folders
};

// As they are at the moment.  Thread safe.
class Source {
 public:
  virtual ~Source() = default;

  // By name.  Fails with one line, for whoever asked.
  virtual absl::StatusOr<std::vector<RecordingFile>> Files() = 0;
};

inline constexpr size_t kMostFiles = 4096;     // of a folder; the others are left out
inline constexpr size_t kMostEntries = 65536;  // of it that are looked at

// Whose recordings are served.  In a folder that all users write to, such as /dev/shm, anybody may
// leave a file.
enum class Owners { kOwn, kAll };

// The recordings of a folder, without those below it.  What is no recording, or may not be read, is
// left out.
class FolderSource : public Source {
 public:
  FolderSource(std::string path, Owners owners) : path_(std::move(path)), owners_(owners) {}

  absl::StatusOr<std::vector<RecordingFile>> Files() override;

 private:
  bool IsServed(const std::string& path) const;

  const std::string path_;
  const Owners owners_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SOURCE_H_
