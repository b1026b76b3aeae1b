// Charges call stacks to functions of the program's symbol tables.
#ifndef ALLOMON_TRACKER_PROFILE_NATIVE_FUNCTIONS_H_
#define ALLOMON_TRACKER_PROFILE_NATIVE_FUNCTIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tracker/callstack/symbols.h"

namespace allomon {

// Not thread safe; allocates and reads files.
class NativeFunctions {
 public:
  struct Function {
    std::string name;
    std::string position;
    bool named;
  };

  NativeFunctions();
  ~NativeFunctions();

  // The innermost managed function of that interned stack: what is inside of it is its
  // interpreter.  Without one, the innermost function that has a symbol; if none has, the
  // innermost one; nullptr for the empty stack.  Valid as long as this object.
  const Function* OfStack(uint32_t stack_id);

 private:
  const Function& OfAddress(uintptr_t return_address);

  std::unique_ptr<ProcessSymbols> symbols_;
  std::map<uintptr_t, Function> by_address_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_NATIVE_FUNCTIONS_H_
