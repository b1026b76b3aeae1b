// Sources of the recordings that are served.
#ifndef ALLOMON_TOOLS_SERVE_SOURCE_H_
#define ALLOMON_TOOLS_SERVE_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/process/places.h"

namespace allomon::serve {

struct RecordingFile {
  std::string path;
  std::string name;           // without folders
  process::Ids running = {};  // RecordingOptions::running: the process that is served of the file
};

// Finds the recordings that exist at the moment.  Thread safe.
class Source {
 public:
  virtual ~Source() = default;

  // Returns the files by name.  Fails with one line, for the client.
  virtual absl::StatusOr<std::vector<RecordingFile>> Files() = 0;
};

inline constexpr size_t kMostFiles = 4096;     // in a folder; others are left out
inline constexpr size_t kMostEntries = 65536;  // entries of a folder that are examined

// The users whose recordings are served.  In a folder that all users may write to, such as
// /dev/shm, anybody may leave a file.
enum class Owners { kOwn, kAll };

// Serves the recordings of a folder, without subfolders.  Leaves out other files, and files that
// cannot be read.
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
