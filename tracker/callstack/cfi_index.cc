#include "tracker/callstack/cfi_index.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "tracker/callstack/cfi_header.h"

namespace allomon::internal {
namespace {

// Returns the bytes to which a table at `header` can refer: its offsets are signed and have 32
// bits.  The loader's extent of the object is not usable as a bound, because for an object with
// gaps between its segments it is that of the code alone.  As in libgcc, loaded tables are trusted.
CfiBytes ReachOf(const uint8_t* header) {
  constexpr uintptr_t kReach = uintptr_t{1} << 31;
  const uintptr_t address = reinterpret_cast<uintptr_t>(header);
  const uintptr_t begin = address > kReach ? address - kReach : 0;
  return {reinterpret_cast<const uint8_t*>(begin),
          reinterpret_cast<const uint8_t*>(address + kReach), begin};
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25;
  return hash ^ hash >> 32;
}

// Mixes in more than the path, because the file may have changed.  The address of the loader's
// record would not do: the next module's record may get the same one.
uint16_t HashOf(const dl_find_object& object) {
  uint64_t hash = Mix(reinterpret_cast<uintptr_t>(object.dlfo_map_start),
                      reinterpret_cast<uintptr_t>(object.dlfo_eh_frame));
  uint64_t word;
  // The word after the first four bytes has the place of .eh_frame and the number of functions.
  if (object.dlfo_eh_frame != nullptr) {
    memcpy(&word, static_cast<const char*>(object.dlfo_eh_frame) + 4, sizeof(word));
    hash = Mix(hash, word);
  }
  const char* path = object.dlfo_link_map->l_name;
  size_t left = strlen(path);
  for (; left >= sizeof(word); left -= sizeof(word), path += sizeof(word)) {
    memcpy(&word, path, sizeof(word));
    hash = Mix(hash, word);
  }
  for (; left != 0; --left) hash = Mix(hash, static_cast<unsigned char>(*path++));
  return static_cast<uint16_t>(hash);
}

}  // namespace

bool FindModule(uintptr_t pc, CodeModule* module) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0) return false;
  *module = {reinterpret_cast<uintptr_t>(object.dlfo_map_start),
             reinterpret_cast<uintptr_t>(object.dlfo_map_end), HashOf(object)};
  return true;
}

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
