// The one place where addresses of code get names.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMER_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/load/recording/find_code.h"
#include "tools/symbols/code_file.h"
#include "tools/symbols/name_sources.h"

namespace allomon::recording {

// Names addresses of one file of code: by the packs; else by the file and its debug file on this
// machine; else, of code with a build id, by the files of a server.  A pack that knows an address
// without a name counts if nobody knows one.
//
// Not thread safe.  Both arguments must outlive it.  Cost: a file is opened with the first address
// that no pack has, and a server is asked at most twice.
class CodeNamer {
 public:
  CodeNamer(const CodeIdentity& code, const NameSources& sources);

  // Returns the frames at an address without load bias, innermost inlined call first.  Code without
  // a symbol is called "<file name>+0x<start of the function>", and is not `named`.  Empty if there
  // is no file.
  std::vector<CodeFrame> At(uint64_t address);

  // Returns what of the file is loaded; empty if that is not known.
  std::vector<LoadedSegment> Segments();

  // A line that says why addresses that were asked for have no names; empty if they have.
  std::string note() const { return misses_ ? found_.note : ""; }

 private:
  const CodeFile* File();
  void Fetch();
  void Collect(uint64_t address, uint64_t start, const std::vector<CodeFrame>& frames);

  const CodeIdentity& code_;
  const NameSources& sources_;
  const std::string key_;
  FoundCode found_;
  bool is_looked_for_ = false;
  bool is_collected_ = false;
  bool misses_ = false;  // an address had neither a pack nor a file
};

// The function of a frame, as profiles have it.
heap::Function FunctionOf(const CodeFrame& frame);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_CODE_NAMER_H_
