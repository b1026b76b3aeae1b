// Sums of amounts by function, for a program whose functions are those of its code.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_SYMBOL_SUMS_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_SYMBOL_SUMS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracker/formats/call_sites.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/write/native_functions.h"
#include "tracker/profile/write/profile_snapshot.h"

namespace allomon {

// Adds a function to the end of a table.  Names and sources are one to one, because C++ functions
// have no split copies here.
uint32_t AddFunction(SourceTable* table, std::string name, std::string position);

// Returns the kind of address with which the stacks of that recording begin.
FirstFrame FirstFrameOf(const ProfileSnapshot& snapshot);

// Charges call stacks to functions.  Not thread safe; allocates and reads files.
class SymbolSums {
 public:
  explicit SymbolSums(const ProfileSnapshot& snapshot);

  void AddManaged(const NamedFunction& function, const MlmonCount& count);
  void Add(const ChargedStack& stack);
  // Adds an amount that the collector used while that stack was below it.
  void AddGc(const ChargedStack& stack);

  // Adds the functions to the table in the order of their names, so that equal runs give equal
  // tables.  Returns the counts of the whole table.
  std::vector<MlmonCount> Finish(SourceTable* table, CallSites* call_sites) const;

  // See NativeFunctions.
  std::string MissingNames() const { return native_.MissingNames(); }

 private:
  using Name = std::pair<std::string, std::string>;        // with position
  using Place = std::tuple<uint32_t, uint64_t, uint64_t>;  // module, start, address

  struct Use {
    MlmonCount count;
    std::set<uintptr_t> callers;                    // return addresses of its callers
    std::map<std::vector<Place>, MlmonInt> places;  // amounts by place
  };

  Use* UseOf(const NativeFunctions::Function& function);
  // Calls visit(use) once for each function on the stack, however often it recurses.
  template <typename Visit>
  void ForEachOnStack(const ChargedStack& stack, Visit visit);
  void AddPlace(const ChargedStack& stack, uint32_t frame, MlmonInt amount, Use* use);
  void Describe(uint32_t index, const Use& use, CallSites* call_sites) const;

  const ProfileSnapshot& snapshot_;
  NativeFunctions native_;
  std::map<Name, Use> by_name_;
  std::unordered_map<const NativeFunctions::Function*, Use*> use_of_;  // results of earlier queries
  MlmonInt unknown_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_SYMBOL_SUMS_H_
