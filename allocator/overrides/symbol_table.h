// The symbol tables of loaded objects, as the loader reads them.
//
// Interface: gABI, "Symbol Table", "Hash Table"; DT_GNU_HASH is described by the GNU linker's
// sources only.
#ifndef ALLOMON_ALLOCATOR_OVERRIDES_SYMBOL_TABLE_H_
#define ALLOMON_ALLOCATOR_OVERRIDES_SYMBOL_TABLE_H_

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace allomon::internal {

// The loader adds the object's address to the pointers, but not where they cannot be written (the
// kernel's vdso).
template <typename T>
const T* LoadedPointer(const link_map& object, uintptr_t value) {
  return reinterpret_cast<const T*>(value < object.l_addr ? value + object.l_addr : value);
}

// The symbols that an object exports and imports, with their hash tables.  Every pointer may be
// nullptr.
struct SymbolTable {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
};
SymbolTable TableOf(const link_map& object);

// Returns the symbol by which the object defines a function of this name; nullptr without one.
// Takes no lock, calls nothing, and does not allocate.  The object must stay loaded.
const ElfW(Sym) * FindDefinition(const link_map& object, const char* name);

// The object of this library; nullptr if the loader does not list it.
const link_map* ObjectOfLibrary();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OVERRIDES_SYMBOL_TABLE_H_
