#include "allocator/host/code_extent.h"

#include <dlfcn.h>
#include <link.h>

#include "tracker/base/check.h"

namespace allomon::internal {

bool FindCodeExtent(uintptr_t address, CodeExtent* extent) {
  dl_find_object found = {};
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  extent->begin = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  extent->end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  ALLOMON_DCHECK("inv.host.extent", extent->Contains(address));
  const char* const name = found.dlfo_link_map == nullptr ? "" : found.dlfo_link_map->l_name;
  extent->is_program = name[0] == '\0';
  return true;
}

CodeExtent OwnCodeExtent() {
  CodeExtent extent;
  FindCodeExtent(reinterpret_cast<uintptr_t>(&OwnCodeExtent), &extent);
  return extent;
}

}  // namespace allomon::internal
