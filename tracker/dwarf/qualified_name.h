// Names of functions that the linker does not know: those of one unit alone, once they are inlined.
#ifndef ALLOMON_TRACKER_DWARF_QUALIFIED_NAME_H_
#define ALLOMON_TRACKER_DWARF_QUALIFIED_NAME_H_

#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>

namespace allomon {

// Of one debug file.  Not thread safe.  Memory: of each name that was asked for.
class QualifiedNames {
 public:
  // "shop::(anonymous namespace)::Inner": the function's name behind those of the namespaces and
  // types around its declaration; in C the name alone.  Empty if it has no name.  Cost: reads over
  // the DIEs beside those, once for each function.
  std::string Of(Dwarf_Die* function);

 private:
  std::unordered_map<const void*, std::string> name_of_;  // by where the declaration is in memory
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_QUALIFIED_NAME_H_
