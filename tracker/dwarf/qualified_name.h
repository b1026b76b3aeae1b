// Names of functions that the linker does not know: functions of a single unit that were inlined.
#ifndef ALLOMON_TRACKER_DWARF_QUALIFIED_NAME_H_
#define ALLOMON_TRACKER_DWARF_QUALIFIED_NAME_H_

#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>

namespace allomon {

// The names in one debug file.  Not thread safe.  Memory: grows with each name queried.
class QualifiedNames {
 public:
  // Returns for example "shop::(anonymous namespace)::Inner": the names of the namespaces and types
  // around its declaration, then the function's name; in C only the latter.  Empty if it has no
  // name.  Cost: reads past the neighbouring DIEs, once for each function.
  std::string Of(Dwarf_Die* function);

 private:
  std::unordered_map<const void*, std::string> name_of_;  // by the declaration's address in memory
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_QUALIFIED_NAME_H_
