// Names of the code that recordings have addresses of.  First all addresses are asked for, then
// each is looked up once, one file of code after the other: at most one is open.
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

namespace allomon::recording {

class CodeNames {
 public:
  // A number for a file of code; equal ones have the same.
  uint32_t AddFile(const CodeIdentity& code);

  // An address in the file, without load bias; of a call, the byte before the return address.
  void Ask(uint32_t file, uint64_t address) { asked_[file].push_back(address); }

  // Cost: of each file that has addresses, reads the debug information of the units that they lie
  // in.  Without a debug file names are those of symbols; of code that has neither,
  // "<file name>+0x<start of the function>".
  //
  // `progress`, if there is one, is called now and then with how many of all addresses are done.
  using Progress = std::function<void(uint64_t done, uint64_t all)>;
  void LookUp(const std::string& debug_folder, const Progress& progress = nullptr);

  // Of an address that was asked for: innermost inlined call first.  Functions are those below.
  // Empty before LookUp().
  const std::vector<heap::Line>& At(uint32_t file, uint64_t address) const;

  const std::vector<heap::Function>& functions() const { return functions_; }
  // A number for a function that is in no file of code.
  uint32_t AddFunction(heap::Function function);

  const CodeIdentity& identity(uint32_t file) const { return files_[file]; }
  // Why names of the file are missing; empty if they are not.
  const std::string& note(uint32_t file) const { return notes_[file]; }

 private:
  void LookUpFile(uint32_t number, const std::string& debug_folder);
  void CountOne();
  heap::Line LineOf(const CodeFrame& frame);

  using Lines = std::vector<heap::Line>;

  std::vector<CodeIdentity> files_;
  std::vector<std::string> notes_;
  std::map<CodeIdentity, uint32_t> file_of_;
  std::vector<std::vector<uint64_t>> asked_;  // by file
  std::vector<std::vector<Lines>> found_;     // as `asked_`
  std::vector<heap::Function> functions_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> function_of_;
  Progress progress_;
  uint64_t done_ = 0;
  uint64_t all_ = 0;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMES_H_
