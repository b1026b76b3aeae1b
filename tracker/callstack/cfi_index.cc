#include "tracker/callstack/cfi_index.h"

#include <dlfcn.h>

#include "tracker/callstack/cfi_header.h"

namespace allomon::internal {
namespace {

// The bytes that a table at `header` can refer to: its offsets are signed and have 32 bits.  The
// loader's extent of the object is no bound, because for an object with gaps between its segments
// it is that of the code alone.  As in libgcc, what was loaded is trusted.
CfiBytes ReachOf(const uint8_t* header) {
  constexpr uintptr_t kReach = uintptr_t{1} << 31;
  const uintptr_t address = reinterpret_cast<uintptr_t>(header);
  const uintptr_t begin = address > kReach ? address - kReach : 0;
  return {reinterpret_cast<const uint8_t*>(begin),
          reinterpret_cast<const uint8_t*>(address + kReach), begin};
}

}  // namespace

CfiLookup FindCfi(uintptr_t pc, CfiBytes* bytes, CfiEntry* entry) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0) return CfiLookup::kNoObject;
  const auto* header = static_cast<const uint8_t*>(object.dlfo_eh_frame);
  if (header == nullptr) return CfiLookup::kNoEntry;
  *bytes = ReachOf(header);
  CfiHeader table;
  if (!table.Read(*bytes, header)) return CfiLookup::kNoEntry;
  const auto* fde = reinterpret_cast<const uint8_t*>(table.AddressOfFde(pc));
  if (fde == nullptr || !ParseFde(*bytes, fde, entry)) return CfiLookup::kNoEntry;
  const bool covers = entry->pc_begin <= pc && pc < entry->pc_end;
  return covers ? CfiLookup::kFound : CfiLookup::kNoEntry;
}

}  // namespace allomon::internal
