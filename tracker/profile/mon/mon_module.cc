#include "tracker/profile/mon/mon_module.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace allomon::internal {
namespace {

struct Search {
  uintptr_t address;
  MonModule* module;
};

bool Holds(uintptr_t bias, const ElfW(Phdr) & segment, uintptr_t address) {
  return segment.p_type == PT_LOAD && address - bias - segment.p_vaddr < segment.p_memsz;
}

uintptr_t RoundUpTo4(uintptr_t n) { return (n + 3) & ~uintptr_t{3}; }

void FindBuildId(uintptr_t note, uintptr_t end, MonModule* module) {
  while (end - note >= sizeof(ElfW(Nhdr))) {
    const auto* header = reinterpret_cast<const ElfW(Nhdr)*>(note);
    const uintptr_t name = note + sizeof(*header);
    const uintptr_t contents = name + RoundUpTo4(header->n_namesz);
    if (contents + header->n_descsz > end) return;
    if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
        memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0) {
      module->build_id = reinterpret_cast<const unsigned char*>(contents);
      module->build_id_bytes = header->n_descsz;
      return;
    }
    note = contents + RoundUpTo4(header->n_descsz);
  }
}

void AddSegment(uintptr_t bias, const ElfW(Phdr) & segment, MonModule* module) {
  const uintptr_t begin = bias + segment.p_vaddr;
  const uintptr_t end = begin + segment.p_memsz;
  if (segment.p_type == PT_NOTE) FindBuildId(begin, end, module);
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
