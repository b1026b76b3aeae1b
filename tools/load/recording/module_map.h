// Which module an address of a process lies in.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_MODULE_MAP_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_MODULE_MAP_H_

#include <cstdint>
#include <vector>

#include "tracker/formats/recording.h"

namespace allomon::recording {

// Immutable.  Refers to the modules that it was made of, by their index.
class ModuleMap {
 public:
  explicit ModuleMap(const std::vector<Module>& modules);

  struct Range {
    uint64_t begin;  // as nodes have it: moved, after dlclose
    uint64_t end;
    uint64_t bias;    // an address less this is the one in the file
    uint32_t module;  // index
  };

  // nullptr if it lies in none.
  const Range* Find(uint64_t address) const;

 private:
  std::vector<Range> ranges_;  // by `begin`
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_MODULE_MAP_H_
