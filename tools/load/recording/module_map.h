// Finds the module in which an address of a process lies.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_MODULE_MAP_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_MODULE_MAP_H_

#include <cstdint>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::recording {

// Immutable.  Refers to modules by their index in the vector that it was made of.
class ModuleMap {
 public:
  explicit ModuleMap(const std::vector<Module>& modules);

  struct Range {
    uint64_t begin;  // as nodes have it: shifted for modules that were unloaded by dlclose
    uint64_t end;
    uint64_t bias;    // an address minus the bias is the address in the file
    uint32_t module;  // index
  };

  // Returns nullptr if the address lies in no module.
  const Range* Find(uint64_t address) const;

 private:
  std::vector<Range> ranges_;  // by `begin`
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_MODULE_MAP_H_
