// Turns code addresses of this process into names and source positions.
//
// For use at exit or in tools: allocates, reads files, takes a lock; never inside malloc or a
// signal handler.  Any thread.
#ifndef ALLOMON_TRACKER_SYMBOLS_SYMBOLS_H_
#define ALLOMON_TRACKER_SYMBOLS_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tracker/formats/file_identity.h"

namespace allomon {

// A function.  `name` is readable (names/readable_name.h); for code without a symbol it is
// "<module's file name>+0x<offset of the function's start>".  `position` is "file: line" of the
// function's first instruction if that is known, else "<module's file name>: 0x<offset>".  Offsets
// are the addresses that `objdump -d` shows.  A managed function (managed_functions.h) is in the
// module "[managed]", with the name and position that it was registered with.
struct Symbol {
  std::string name;
  std::string module;  // path of the mapped file, "[vdso]", "[anon]" or "[unknown]"
  std::string position;
  uintptr_t function_start;  // in this process; 0 in "[unknown]"
  bool named;                // whether the name comes from a symbol
  // Address of `pc` in the module's file, without load bias; 0 if no file is known.
  uint64_t address = 0;
  std::string build_id = {};  // of the file, in lower-case hexadecimal; may be empty
  FileIdentity file = {};     // identity of a file without a build id, if it is known
};

class ProcessSymbols {
 public:
  // Notes the current mappings; code that is mapped later, and not by the loader, is "[unknown]".
  // A file is opened at the first query for it.  If the path leads to another file by then, or
  // cannot be opened, exported functions have the names that are mapped with them; the others are
  // named by module and offset (MissingNames() tells).  Addresses in call stacks whose code was
  // unloaded by dlclose are resolved, too (README.md, "Unloaded code").  Cost: reading
  // /proc/thread-self/maps, well under a millisecond.
  static std::unique_ptr<ProcessSymbols> Load();

  ~ProcessSymbols();

  // Returns the function that contains `pc`.  For a return address, pass one less: the call may be
  // the last instruction of its function.  Always returns a Symbol.  Cost: the first query for a
  // file reads its symbol and unwind tables (libc: 2 ms); later ones take microseconds.
  Symbol Resolve(uintptr_t pc) const;

  // Returns the reason why queried functions have no name: a line, without its end; empty if there
  // is no such function.
  std::string MissingNames() const;

  // Returns the start of the function that contains `pc`, by the unwind tables alone; 0 if they do
  // not cover it.
  uintptr_t FunctionStart(uintptr_t pc) const;

 private:
  class Impl;
  explicit ProcessSymbols(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_SYMBOLS_SYMBOLS_H_
