// The part of the loader's look-up order that precedes the preloaded library: the executable, and
// the libraries preloaded earlier.
//
// The loader's list and the objects' own hash tables are read, since dlsym() does not distinguish a
// function of the executable from the executable's jump to ours: in a position-dependent executable
// that takes malloc's address, it returns the address of the jump.
#include <cstring>

#include "allocator/host/malloc_owner.h"
#include "allocator/host/next_function.h"
#include "allocator/overrides/symbol_table.h"

namespace allomon::internal {

SymbolTable TableOf(const link_map& object) {
  SymbolTable table;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) table.symbols = LoadedPointer<ElfW(Sym)>(object, value);
    if (entry->d_tag == DT_STRTAB) table.names = LoadedPointer<char>(object, value);
    if (entry->d_tag == DT_GNU_HASH) table.gnu_hash = LoadedPointer<uint32_t>(object, value);
    if (entry->d_tag == DT_HASH) table.sysv_hash = LoadedPointer<uint32_t>(object, value);
  }
  return table;
}

namespace {

// An undefined symbol with a value is the executable's jump to a function of another object.
bool Defines(const SymbolTable& table, uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = table.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         strcmp(table.names + symbol.st_name, name) == 0;
}

uint32_t GnuHashOf(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The table has: the numbers of buckets, of symbols without hash and of words of the Bloom filter,
// and a shift; the filter; the buckets; a hash per symbol, whose lowest bit ends a bucket.
const ElfW(Sym) * FindByGnuHash(const SymbolTable& table, const char* name) {
  const uint32_t buckets = table.gnu_hash[0];
  const uint32_t first_symbol = table.gnu_hash[1];
  const uint32_t* const bucket = table.gnu_hash + 4 + table.gnu_hash[2] * sizeof(uintptr_t) / 4;
  const uint32_t* const hashes = bucket + buckets;
  if (buckets == 0) return nullptr;
  const uint32_t hash = GnuHashOf(name);
  uint32_t index = bucket[hash % buckets];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const uint32_t other = hashes[index - first_symbol];
    if ((other | 1) == (hash | 1) && Defines(table, index, name)) return table.symbols + index;
    if ((other & 1) != 0) return nullptr;
  }
}

// The table has: the numbers of buckets and of symbols; the buckets; the chains.  Objects with only
// this table are rare, so all symbols are compared.
const ElfW(Sym) * FindBySysvHash(const SymbolTable& table, const char* name) {
  const uint32_t symbols = table.sysv_hash[1];
  for (uint32_t index = 1; index < symbols; ++index) {
    if (Defines(table, index, name)) return table.symbols + index;
  }
  return nullptr;
}

bool Defines(const link_map& object, const char* name) {
  return FindDefinition(object, name) != nullptr;
}

constexpr const char* kCxxRuntimes[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};

bool IsCxxRuntime(const char* path) {
  const char* const slash = strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  for (const char* runtime : kCxxRuntimes) {
    if (strcmp(name, runtime) == 0) return true;
  }
  return false;
}

struct Sought {
  const char* name;
  void* found;
};

int LookIn(dl_phdr_info* info, size_t, void* data) {
  if (!IsCxxRuntime(info->dlpi_name)) return 0;
  link_map object = {};
  object.l_addr = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_DYNAMIC) continue;
    object.l_ld = reinterpret_cast<ElfW(Dyn)*>(info->dlpi_addr + part.p_vaddr);
  }
  Sought* const sought = static_cast<Sought*>(data);
  const ElfW(Sym)* const symbol =
      object.l_ld == nullptr ? nullptr : FindDefinition(object, sought->name);
  if (symbol == nullptr) return 0;
  sought->found = reinterpret_cast<void*>(object.l_addr + symbol->st_value);
  return 1;
}

}  // namespace

// Objects are visited under a lock that dlopen() does not hold while constructors run.
void* FindLoadedOperator(const char* name) {
  Sought sought = {name, nullptr};
  dl_iterate_phdr(&LookIn, &sought);
  return sought.found;
}

const ElfW(Sym) * FindDefinition(const link_map& object, const char* name) {
  const SymbolTable table = TableOf(object);
  if (table.symbols == nullptr || table.names == nullptr) return nullptr;
  if (table.gnu_hash != nullptr) return FindByGnuHash(table, name);
  return table.sysv_hash == nullptr ? nullptr : FindBySysvHash(table, name);
}

const link_map* ObjectOfLibrary() {
  const link_map* object = _r_debug.r_map;
  while (object != nullptr && object->l_ld != _DYNAMIC) object = object->l_next;
  return object;
}

// A library that was loaded by dlopen() comes last in the list, after the C library and its malloc.
const char* DefinerInFront(const char* name) {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_ld == _DYNAMIC) return nullptr;  // the library itself
    if (Defines(*object, name)) return object->l_name;
  }
  return nullptr;
}

const char* DefinerBehind(const char* name) {
  const link_map* object = ObjectOfLibrary();
  if (object == nullptr) return nullptr;
  for (object = object->l_next; object != nullptr; object = object->l_next) {
    if (Defines(*object, "__libc_start_main")) return nullptr;
    // Another copy of the library stands aside, and has reported it.
    if (Defines(*object, name) && !Defines(*object, "allomon_ready")) return object->l_name;
  }
  return nullptr;
}

}  // namespace allomon::internal
