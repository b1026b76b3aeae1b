#include "tools/load/recording/module_map.h"

#include <algorithm>

namespace allomon::recording {

ModuleMap::ModuleMap(const std::vector<Module>& modules) {
  for (uint32_t i = 0; i < modules.size(); ++i) {
    const Module& module = modules[i];
    if (module.begin == 0) continue;
    ranges_.push_back({module.begin + module.moved_by, module.end + module.moved_by,
                       module.bias + module.moved_by, i});
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

const ModuleMap::Range* ModuleMap::Find(uint64_t address) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](uint64_t value, const Range& range) { return value < range.begin; });
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *(after - 1);
  return address < range.end ? &range : nullptr;
}

}  // namespace allomon::recording
