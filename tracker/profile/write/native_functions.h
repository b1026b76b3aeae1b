// Charges call stacks to functions of the program's symbol tables.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tracker/profile/write/profile_snapshot.h"
#include "tracker/symbols/symbols.h"

namespace allomon {

// The kind of address in the innermost frame of a stack: a return address, or the address of the
// instruction that a signal interrupted.
enum class FirstFrame { kReturn, kInterrupted };

// Not thread safe; allocates.  Reads files only when it is first asked for a function, so a profile
// without samples reads none.
class NativeFunctions {
 public:
  struct Function {
    std::string name;
    std::string position;
    uintptr_t start;
    bool named;
    bool excluded;
  };

  // `excluded` is a list of shell patterns (fnmatch(3)), separated by commas.  Functions that match
  // are charged to their callers, as MLton's compiler does for -profile-exclude.
  NativeFunctions(std::string excluded, FirstFrame first)
      : excluded_(std::move(excluded)), first_(first) {}

  // The innermost managed function of that stack, because the frames inside of it belong to its
  // interpreter.  Without a managed function, the innermost function that has a symbol and is not
  // excluded.  If there is none, the innermost that has a symbol, or the innermost one.  nullptr
  // for the empty stack.  The result is valid as long as this object.
  const Function* OfStack(const ChargedStack& stack);

  // Calls found(function) for the functions on that stack, innermost first, until it returns true.
  void FindInStack(const ChargedStack& stack, const std::function<bool(const Function&)>& found);

  // Calls visit(function) for every function on that stack that has a symbol, and for the innermost
  // one.  A function that recurses is visited more than once.
  void ForEachOfStack(const ChargedStack& stack, const std::function<void(const Function&)>& visit);

 private:
  const Function& OfAddress(uintptr_t pc);
  bool IsExcluded(const std::string& name) const;
  // nullptr if there is no such function.
  const Function* InnermostNamed(const ChargedStack& stack, bool or_excluded);
  // The pc of a frame, inside its function.
  uintptr_t PcOfFrame(const ChargedStack& stack, uint32_t frame) const;

  const std::string excluded_;
  const FirstFrame first_;
  std::unique_ptr<ProcessSymbols> symbols_;  // nullptr before the first look-up
  std::map<uintptr_t, Function> by_address_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
