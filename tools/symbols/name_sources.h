// Sources of names besides the files of the code: --debug-dir, --symbols and --debuginfod of a
// command.
//
// A plain value.  Copies share what they point to; one thread at a time uses it.
#ifndef ALLOMON_TOOLS_SYMBOLS_NAME_SOURCES_H_
#define ALLOMON_TOOLS_SYMBOLS_NAME_SOURCES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/symbols/code_file.h"
#include "tools/symbols/symbol_pack.h"

namespace allomon {

// Brings files of code from elsewhere into DebugCacheFolder(), where BeginLocalSession() and
// FindCode() find them.
class CodeServer {
 public:
  enum class What { kDebugInformation, kProgram };

  virtual ~CodeServer() = default;
  // True if the file of that build id is in the folder now.  `path` names the code in notes.  What
  // has failed once is not tried again.  Cost: bounded by the implementation's limit of time.
  virtual bool Fetch(const std::string& build_id, What what, const std::string& path) = 0;
  // Removes and returns lines about failures, each once.
  virtual std::vector<std::string> TakeNotes() = 0;
};

struct NamedPack {
  std::string file;  // for messages
  std::shared_ptr<const SymbolPack> pack;
};

struct NameSources {
  std::string debug_dir;         // a folder that is searched for debug files, too; may be empty
  std::vector<NamedPack> packs;  // asked before files of this machine, one after the other
  std::shared_ptr<CodeServer> server;           // asked last; nullptr: no server is asked
  std::shared_ptr<SymbolPackWriter> collected;  // gets all names that are found; may be nullptr

  // Whether names shall be looked for even in files that had their chance to be named.
  bool AreTold() const { return !packs.empty() || server != nullptr || collected != nullptr; }
};

// Finds the frames at an address of code in the packs, and the start of the function there.  False
// if no pack has it.
bool PackedFramesAt(const NameSources& sources, const std::string& key, uint64_t address,
                    const std::string& path, uint64_t* start, std::vector<CodeFrame>* frames);

// Finds what of a file is loaded in the packs; empty if no pack has it.  Code without a build id is
// found by its path.
std::vector<LoadedSegment> PackedSegments(const NameSources& sources, const std::string& build_id,
                                          const std::string& path);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_NAME_SOURCES_H_
