// Finds the call frame information of code in this process.
//
// Uses glibc's _dl_find_object (2.35), which takes no lock and is async-signal-safe, and the sorted
// table in .eh_frame_hdr.  No allocation.  Cost: about 40 ns plus one cache miss per step of the
// binary search.
//
// The bytes are read where the loader mapped them: unloading an object while a thread still has a
// frame of it on its stack is undefined in C++ and here.
#ifndef ALLOMON_TRACKER_CALLSTACK_CFI_INDEX_H_
#define ALLOMON_TRACKER_CALLSTACK_CFI_INDEX_H_

#include <cstdint>

#include "tracker/callstack/cfi_entry.h"

namespace allomon::internal {

enum class CfiLookup {
  kFound,
  kNoEntry,   // a loaded object's code that has no FDE
  kNoObject,  // in no loaded object: generated code, or no code at all
};

// On kFound, *entry covers pc, and the readers of *entry lie in *bytes.
CfiLookup FindCfi(uintptr_t pc, CfiBytes* bytes, CfiEntry* entry);

// A loaded object: its addresses, and a hash that distinguishes it from another one loaded later to
// the same place.
struct CodeModule {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint16_t hash = 0;

  bool Contains(uintptr_t pc) const { return pc - begin < end - begin; }
};

// Finds the object that contains pc.  Returns false, with *module unchanged, if there is no such
// object.  Cost: 175 instructions, more if the object's path is long.
bool FindModule(uintptr_t pc, CodeModule* module);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CFI_INDEX_H_
