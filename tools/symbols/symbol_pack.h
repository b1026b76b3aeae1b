// A file of names that travels: what addresses of code are called, for machines that do not have
// the files of that code.  The format is in tools/pack/README.md.
//
// Plain values without locks.  A reader checks all that a file states against its size.
#ifndef ALLOMON_TOOLS_SYMBOLS_SYMBOL_PACK_H_
#define ALLOMON_TOOLS_SYMBOLS_SYMBOL_PACK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/symbols/code_file.h"
#include "tracker/formats/file_identity.h"

namespace allomon {

// Larger texts are refused: a pack has the names of one program, not its debug information.
inline constexpr size_t kMostPackBytes = size_t{256} << 20;

// ---- Keys identify code on two machines.  Empty: it cannot be identified.

// A build id, or, of code without one, the file that was mapped.
std::string PackKey(const std::string& build_id, const FileIdentity& file);
// Code that a process has generated.
std::string PackKeyOfProcess(uint64_t pid, uint64_t start_nanos);

// ---- The contents of a pack.

struct PackedFunction {
  std::string name;    // in the form for people; empty: not known
  std::string symbol;  // the linker's; empty: not known
  std::string file;
  int start_line = 0;

  bool operator<(const PackedFunction& other) const {
    return std::tie(name, symbol, file, start_line) <
           std::tie(other.name, other.symbol, other.file, other.start_line);
  }
};

struct PackedFrame {
  uint32_t function = 0;
  int line = 0;
  int column = 0;

  bool operator==(const PackedFrame& other) const {
    return function == other.function && line == other.line && column == other.column;
  }
};

// An address in a file, without load bias.
struct PackedAddress {
  uint64_t address = 0;
  uint64_t start = 0;  // of the function's code, after which code without a name is called
  size_t first_frame = 0;
  size_t frames = 0;  // innermost first
};

struct PackedCode {
  std::string path;
  bool is_program = false;  // the executable of a process, not a library of it
  std::vector<LoadedSegment> segments;
  std::vector<PackedAddress> addresses;  // ascending
};

// Reads a pack.
class SymbolPack {
 public:
  // False if the text is no pack, or a damaged one; then `why` is a phrase without the file's name.
  // A pack with more than any program has is a damaged one: so memory is bounded by some 1.5 GiB
  // and twice the text.
  static bool Parse(std::string_view text, SymbolPack* pack, std::string* why);

  const std::map<std::string, PackedCode>& code() const { return code_; }
  // nullptr if it has nothing of that key.
  const PackedCode* Find(const std::string& key) const;

  // Finds the frames at an address as CodeFile::At() would have them, and the start of the function
  // there; a function without a name is called after `path`.  False if the pack does not have that
  // address.
  bool FramesAt(const PackedCode& code, uint64_t address, const std::string& path, uint64_t* start,
                std::vector<CodeFrame>* frames) const;

 private:
  friend class SymbolPackReader;

  std::map<std::string, PackedCode> code_;  // by key
  std::vector<PackedFunction> functions_;
  std::vector<PackedFrame> frames_;
};

// Collects the contents of a pack.  An address that is added twice is there once.
class SymbolPackWriter {
 public:
  // An empty key adds nothing.
  void AddCode(const std::string& key, const std::string& path, bool is_program,
               std::vector<LoadedSegment> segments);
  // Callers have added the code.
  void AddAddress(const std::string& key, uint64_t address, uint64_t start,
                  const std::vector<CodeFrame>& frames);

  // Notes that a file of code was looked for and not found.
  void AddMissing(const std::string& path) { missing_.insert(path); }

  // The text of the pack: equal for equal contents, in whatever order they were added.
  std::string Text() const;

  const std::set<std::string>& missing() const { return missing_; }
  size_t codes() const { return code_.size(); }
  size_t addresses() const { return addresses_; }
  // Addresses whose innermost function has a name.
  size_t named() const { return named_; }

 private:
  struct Frame {
    PackedFunction function;
    int line;
    int column;
  };
  struct Address {
    uint64_t start;
    std::vector<Frame> frames;
  };
  struct Code {
    std::string path;
    bool is_program = false;
    std::vector<LoadedSegment> segments;
    std::map<uint64_t, Address> addresses;
  };

  std::map<std::string, Code> code_;
  size_t addresses_ = 0;
  size_t named_ = 0;
  std::set<std::string> missing_;
};

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_SYMBOL_PACK_H_
