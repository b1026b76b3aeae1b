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

// The kind of address that the innermost frame of a stack is: a return address, or the instruction
// that a signal interrupted.
enum class FirstFrame { kReturn, kInterrupted };

// Not thread safe; allocates, and reads files from the first function on: a profile without samples
// pays for none.
class NativeFunctions {
 public:
  struct Function {
    std::string name;
    std::string position;
    uintptr_t start;
    bool named;
    bool excluded;
  };

  // `excluded` is a list of shell patterns (fnmatch(3)), separated by commas, of functions that are
  // charged to their callers, as MLton's compiler does for -profile-exclude.
  NativeFunctions(std::string excluded, FirstFrame first)
      : excluded_(std::move(excluded)), first_(first) {}

  // The innermost managed function of that stack: what is inside of it is its interpreter.  Without
  // one, the innermost function that has a symbol and is not excluded; if none is left, the
  // innermost that has a symbol, or the innermost one; nullptr for the empty stack.  Valid as long
  // as this object.
  const Function* OfStack(const ChargedStack& stack);

  // Calls found(function) for the functions on that stack, innermost first, until it says true.
  void FindInStack(const ChargedStack& stack, const std::function<bool(const Function&)>& found);

  // Calls visit(function) for every function on that stack that has a symbol, and for the innermost
  // one; a function that recurses is visited more than once.
  void ForEachOfStack(const ChargedStack& stack, const std::function<void(const Function&)>& visit);

 private:
  const Function& OfAddress(uintptr_t pc);
  bool IsExcluded(const std::string& name) const;
  // nullptr if there is none.
  const Function* InnermostNamed(const ChargedStack& stack, bool or_excluded);
  // The pc of a frame, inside its function.
  uintptr_t PcOfFrame(const ChargedStack& stack, uint32_t frame) const;

  const std::string excluded_;
  const FirstFrame first_;
  std::unique_ptr<ProcessSymbols> symbols_;  // nullptr before the first question
  std::map<uintptr_t, Function> by_address_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
