// Charges call stacks to functions of the program's symbol tables.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tracker/core/stack_table.h"
#include "tracker/symbols/symbols.h"

namespace allomon {

// Not thread safe; allocates, and reads files from the first function on: who has no samples
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

  // `excluded` is a list of shell patterns (fnmatch(3)), separated by commas, of functions that
  // are charged to their callers, as MLton's compiler does for -profile-exclude.
  explicit NativeFunctions(std::string excluded = "") : excluded_(std::move(excluded)) {}

  // The innermost managed function of that interned stack: what is inside of it is its
  // interpreter.  Without one, the innermost function that has a symbol and is not excluded; if
  // none is left, the innermost that has a symbol, or the innermost one; nullptr for the empty
  // stack.  Valid as long as this object.
  const Function* OfStack(uint32_t stack_id);

  // Calls found(function) for the functions on that stack, innermost first, until it says
  // true.
  void FindInStack(uint32_t stack_id, const std::function<bool(const Function&)>& found);

  // Calls visit(function) for every function on that stack that has a symbol, and for the
  // innermost one; a function that recurses is visited more than once.
  void ForEachOfStack(uint32_t stack_id, const std::function<void(const Function&)>& visit);

 private:
  const Function& OfAddress(uintptr_t pc);
  bool IsExcluded(const std::string& name) const;
  // nullptr if there is none.
  const Function* InnermostNamed(const internal::StackView& stack, bool or_excluded);
  // The pc of a frame, inside its function.
  static uintptr_t PcOfFrame(const internal::StackView& stack, uint32_t frame);

  const std::string excluded_;
  std::unique_ptr<ProcessSymbols> symbols_;  // nullptr before the first question
  std::map<uintptr_t, Function> by_address_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
