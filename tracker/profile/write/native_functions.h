// Charges call stacks to functions of the program's code.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/call_sites.h"
#include "tracker/names/wrappers.h"
#include "tracker/profile/write/profile_snapshot.h"
#include "tracker/symbols/symbols.h"

namespace allomon {

// The kind of address in the innermost frame of a stack: a return address, or the address of the
// instruction that a signal interrupted.
enum class FirstFrame { kReturn, kInterrupted };

// Not thread safe; allocates.  Reads files only at the first query for a function, so a profile
// without samples reads no files.
class NativeFunctions {
 public:
  struct Function {
    std::string name;
    std::string position;
    uintptr_t start;
    bool named;
    bool excluded;
    bool in_file;       // whether `place` holds
    CodeAddress place;  // of the queried pc
  };

  // `excluded` are patterns of functions whose callers are charged instead, as MLton's compiler
  // does for -profile-exclude.
  NativeFunctions(std::string_view excluded, FirstFrame first)
      : patterns_(excluded), first_(first) {}

  // Returns the frame to which a stack is charged.  It is that of the innermost managed function,
  // because its callees are frames of its interpreter.  Without a managed function it is the
  // innermost one that is not excluded, whether it has a name or not: charging a caller instead of
  // an unnamed function would be wrong.  But an unnamed function called by an excluded one of the
  // same module is excluded with it.  If all are excluded, it is the innermost one.  The stack must
  // not be empty.
  uint32_t ChargedFrame(const ChargedStack& stack);

  // The function of a frame.  Valid as long as this object.
  const Function& OfFrame(const ChargedStack& stack, uint32_t frame);

  // Returns the code addresses of `frame` and of its callers up to the first with a readable name.
  // Empty if no file is known.
  std::vector<CodeAddress> PlacesFrom(const ChargedStack& stack, uint32_t frame);

  // Calls found(function) for the functions on that stack, innermost first, until it returns true.
  // A function that recurses is visited more than once.
  void FindInStack(const ChargedStack& stack, const std::function<bool(const Function&)>& found);

  // Returns the reason why functions have no names, as a line, or empty.
  std::string MissingNames() const { return symbols_ == nullptr ? "" : symbols_->MissingNames(); }

  // The files of all places.
  const std::vector<CodeModule>& modules() const { return modules_; }

 private:
  const Function& OfAddress(uintptr_t pc);
  uint32_t ModuleOf(const Symbol& symbol);
  bool IsPartOfWrapper(const ChargedStack& stack, uint32_t frame);
  // Returns a pc of a frame, inside its function.
  uintptr_t PcOfFrame(const ChargedStack& stack, uint32_t frame) const;

  const std::string patterns_;
  const FirstFrame first_;
  // Both empty before the first look-up: they take more pages than everything else at a start.
  std::unique_ptr<ProcessSymbols> symbols_;
  std::optional<Wrappers> excluded_;
  std::map<uintptr_t, Function> by_address_;
  std::vector<CodeModule> modules_;
  std::map<std::string, uint32_t> module_of_path_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_NATIVE_FUNCTIONS_H_
