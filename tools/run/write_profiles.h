// The files of a recording: one for the main program, and one for each other program that matters.
#ifndef ALLOMON_TOOLS_RUN_WRITE_PROFILES_H_
#define ALLOMON_TOOLS_RUN_WRITE_PROFILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/heap/heap_profile.h"
#include "tools/run/main_program.h"
#include "tools/run/memory_file.h"
#include "tools/run/signals.h"
#include "tools/run/worker.h"

namespace allomon::run {

// The references are the caller's and outlive it.
class ProfileWriter {
 public:
  // `programs` as Programs() gives them.  `out` is the main program's file.
  ProfileWriter(const MemoryFile& memory, const std::vector<Program>& programs, std::string out,
                const Signals& signals);

  // Reads the profiles, without names, and chooses those that get a file.
  absl::Status Read();

  // After Read().
  const heap::HeapProfile& main_profile() const { return outputs_.front().profile; }

  // Looks up names, which takes seconds and can be interrupted, and writes.  Says what is not as it
  // should be.  The path of the main file; empty if it could be written nowhere.
  std::string Write(bool shows_progress);

 private:
  struct Output {
    std::string path;
    heap::HeapProfile profile;
  };
  using Files = std::vector<std::string>;  // contents, as `outputs_`

  void Choose(std::vector<heap::HeapProfile> profiles);
  std::string PathFor(const std::string& program) const;
  std::string EncodeNamed(WorkProgress* progress) const;
  Files Named(bool shows_progress) const;
  Files Unnamed() const;
  void SayOthers(const std::vector<std::string>& written) const;

  const MemoryFile& memory_;
  const std::vector<Program>& programs_;
  const std::string out_;
  const Signals& signals_;
  std::vector<Output> outputs_;        // the main program's first
  std::vector<std::string> left_out_;  // names of programs without a file
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WRITE_PROFILES_H_
