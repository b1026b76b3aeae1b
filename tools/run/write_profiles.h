// Writes the files of a recording: one for the main program, and one for each other program that
// matters.
#ifndef ALLOMON_TOOLS_RUN_WRITE_PROFILES_H_
#define ALLOMON_TOOLS_RUN_WRITE_PROFILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/run/main_program.h"
#include "tools/run/memory_file.h"
#include "tools/run/resident.h"
#include "tools/run/signals.h"
#include "tools/run/worker.h"

namespace allomon::run {

// The references belong to the caller and outlive the writer.
class ProfileWriter {
 public:
  // `programs` is the result of Programs().  `out` is the main program's file.
  ProfileWriter(const MemoryFile& memory, const ResidentMemories& resident,
                const std::vector<Program>& programs, std::string out, const Signals& signals);

  // Reads the profiles, without names, and chooses those that get a file.
  absl::Status Read();

  // Callers call Read() first.
  const heap::HeapProfile& main_profile() const { return outputs_.front().profile; }

  // Looks up names, which takes seconds and can be interrupted, and writes the files.  Reports
  // problems on standard error.  Returns the path of the main file; empty if it could not be
  // written anywhere.
  std::string Write(bool shows_progress);

 private:
  struct Output {
    std::string path;
    heap::HeapProfile profile;
  };
  using Files = std::vector<std::string>;  // contents, parallel to `outputs_`

  void Choose(std::vector<heap::HeapProfile> profiles);
  std::string PathFor(const std::string& program) const;
  std::string EncodeNamed(WorkProgress* progress) const;
  Files Named(bool shows_progress) const;
  Files Unnamed() const;
  void SayOthers(const std::vector<std::string>& written) const;

  absl::StatusOr<std::vector<heap::HeapProfile>> ReadProfiles(
      const recording::RecordingOptions& options) const;

  const MemoryFile& memory_;
  const ResidentMemories& resident_;
  const std::vector<Program>& programs_;
  const std::string out_;
  const Signals& signals_;
  std::vector<Output> outputs_;        // the main program's file comes first
  std::vector<std::string> left_out_;  // names of programs that get no file
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WRITE_PROFILES_H_
