#include "tracker/profile/mon/mon_module.h"

#include <elf.h>
#include <link.h>

#include <algorithm>

#include "tracker/base/elf_notes.h"

namespace allomon::internal {
namespace {

struct Search {
  uintptr_t address;
  MonModule* module;
};

bool Holds(uintptr_t bias, const ElfW(Phdr) & segment, uintptr_t address) {
  return segment.p_type == PT_LOAD && address - bias - segment.p_vaddr < segment.p_memsz;
}

void AddNotes(uintptr_t begin, uintptr_t end, MonModule* module) {
  const ByteReader id = FindBuildId(
      ByteReader(reinterpret_cast<const uint8_t*>(begin), reinterpret_cast<const uint8_t*>(end)));
  if (id.AtEnd()) return;
  module->build_id = id.position();
  module->build_id_bytes = id.remaining();
}

void AddSegment(uintptr_t bias, const ElfW(Phdr) & segment, MonModule* module) {
  const uintptr_t begin = bias + segment.p_vaddr;
  const uintptr_t end = begin + segment.p_memsz;
  if (segment.p_type == PT_NOTE) AddNotes(begin, end, module);
  if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) return;
  module->code_low = module->code_high == 0 ? begin : std::min(module->code_low, begin);
  module->code_high = std::max(module->code_high, end);
}

// A result other than 0 stops the iteration.
int Visit(dl_phdr_info* info, size_t, void* argument) {
  const Search& search = *static_cast<Search*>(argument);
  bool found = false;
  MonModule module;
  module.bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    AddSegment(info->dlpi_addr, info->dlpi_phdr[i], &module);
    found |= Holds(info->dlpi_addr, info->dlpi_phdr[i], search.address);
  }
  if (!found || module.code_high == 0) return 0;
  *search.module = module;
  return 1;
}

}  // namespace

bool FindMonModule(uintptr_t address, MonModule* module) {
  Search search = {address, module};
  return dl_iterate_phdr(Visit, &search) != 0;
}

}  // namespace allomon::internal
