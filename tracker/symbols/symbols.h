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
  // Where `pc` is in the module's file, without load bias; 0 if no file is known.
  uint64_t address = 0;
  std::string build_id = {};  // of the file, in lower-case hexadecimal; may be empty
  FileIdentity file = {};     // without a build id: which file it is, if that is known
};

class ProcessSymbols {
 public:
  // Takes note of what is mapped now; code that is mapped later, and not by the loader, is
  // "[unknown]".  A file is opened when it is first asked about.  If it is another one by then, or
  // cannot be opened, functions have the names that are mapped with them, those of exported ones;
  // the others are named by module and offset (MissingNames() tells).  Addresses in call stacks
  // whose code was unloaded by dlclose are answered for, too (README.md, "Unloaded code").  Cost:
  // reading /proc/thread-self/maps, well under a millisecond.
  static std::unique_ptr<ProcessSymbols> Load();

  ~ProcessSymbols();

  // The function that contains `pc`.  A caller with a return address passes one less: the call may
  // be the last instruction of its function.  Always answers.  Cost: the first question about a
  // file reads its symbol and unwind tables (libc: 2 ms); after that, microseconds.
  Symbol Resolve(uintptr_t pc) const;

  // Why functions that were asked for have no name: a line, without end; empty if nothing hinders.
  std::string MissingNames() const;

  // Where the function that contains `pc` starts, by the unwind tables alone; 0 if they do not
  // cover it.
  uintptr_t FunctionStart(uintptr_t pc) const;

 private:
  class Impl;
  explicit ProcessSymbols(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_SYMBOLS_SYMBOLS_H_
