// Names of the code at the addresses in recordings.  Callers first ask for all addresses; then each
// is looked up once.  Files of code are read one after the other: at most one is open.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMES_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/load/recording/find_code.h"
#include "tools/process/places.h"
#include "tools/symbols/name_sources.h"

namespace allomon::recording {

class CodeNames {
 public:
  explicit CodeNames(NameSources sources) : sources_(std::move(sources)) {}

  const NameSources& sources() const { return sources_; }

  // Returns a number for a file of code; equal files have the same number.
  uint32_t AddFile(const CodeIdentity& code);

  // Asks for an address in the file, without load bias.  For a call it is the byte before the
  // return address.
  void Ask(uint32_t file, uint64_t address) { asked_[file].push_back(address); }

  // Looks up the addresses.  Cost: reads from each file that has addresses the debug information of
  // the units in which they lie.  Without a debug file names are those of symbols; code without
  // symbols is named "<file name>+0x<start of the function>".
  //
  // Calls `progress`, if there is one, now and then with the numbers of addresses done and of all.
  using Progress = std::function<void(uint64_t done, uint64_t all)>;
  void LookUp(const Progress& progress = nullptr);

  // Returns the frames at an address that was asked for, innermost inlined call first.  Their
  // functions are indices of functions().  Empty before LookUp().
  const std::vector<heap::Line>& At(uint32_t file, uint64_t address) const;

  // Returns heap::Location::new_type of such an address.
  std::string NewTypeAt(uint32_t file, uint64_t address) const;

  const std::vector<heap::Function>& functions() const { return functions_; }
  // Returns a number for a function that is in no file of code.
  uint32_t AddFunction(heap::Function function);

  // Finds the processes of recordings, all with one look at the machine's processes.
  process::Running& running() { return running_; }

  const CodeIdentity& identity(uint32_t file) const { return files_[file]; }
  // A line that says why names of the file are missing; empty if they are not.
  const std::string& note(uint32_t file) const { return notes_[file]; }

 private:
  void LookUpFile(uint32_t number);
  void CountOne();
  heap::Line LineOf(const CodeFrame& frame);

  using Lines = std::vector<heap::Line>;

  const NameSources sources_;
  std::vector<CodeIdentity> files_;
  std::vector<std::string> notes_;
  std::map<CodeIdentity, uint32_t> file_of_;
  std::vector<std::vector<uint64_t>> asked_;                        // by file
  std::vector<std::vector<Lines>> found_;                           // parallel to `asked_`
  std::map<std::pair<uint32_t, uint64_t>, std::string> new_types_;  // by file and address
  std::vector<heap::Function> functions_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> function_of_;
  process::Running running_;
  Progress progress_;
  uint64_t done_ = 0;
  uint64_t all_ = 0;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMES_H_
