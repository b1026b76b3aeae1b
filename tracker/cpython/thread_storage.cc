#include "tracker/cpython/thread_storage.h"

#include <link.h>

#include <cstdint>

namespace allomon::cpython {
namespace {

// An entry of glibc's table of a thread's storage, by module.  Entry 0 has the generation that the
// table is of, the one before it the number of the last entry.
struct Entry {
  uintptr_t value;  // a count, or the storage's address
  void* to_free;    // null for storage that lies beside the thread's stack
};

constexpr uintptr_t kUnallocated = ~uintptr_t{0};

const Entry* OwnTable() {
#if defined(__x86_64__)
  const Entry* table;
  asm volatile("movq %%fs:8, %0" : "=r"(table));
  return table;
#else
  return nullptr;
#endif
}

const Entry* FindEntry(const Entry* table, size_t module) {
  if (module > table[-1].value || table[module].value == kUnallocated) return nullptr;
  return &table[module];
}

struct Search {
  uintptr_t symbol;
  const Entry* table;
  size_t module;
  int equal;
  int different;
};

bool Contains(const dl_phdr_info& info, uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    if (address - (info.dlpi_addr + header.p_vaddr) < header.p_memsz) return true;
  }
  return false;
}

int Look(dl_phdr_info* info, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (Contains(*info, search.symbol)) search.module = info->dlpi_tls_modid;
  if (info->dlpi_tls_modid == 0 || info->dlpi_tls_data == nullptr) return 0;
  const Entry* const entry = FindEntry(search.table, info->dlpi_tls_modid);
  const auto theirs = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
  ++(entry != nullptr && entry->value == theirs ? search.equal : search.different);
  return 0;
}

}  // namespace

bool FindThreadStorage(const void* symbol, void* (*read)(), ThreadStorage* storage) {
  read();
  Search search = {reinterpret_cast<uintptr_t>(symbol), OwnTable(), 0, 0, 0};
  if (search.table == nullptr) return false;
  dl_iterate_phdr(Look, &search);
  if (search.equal == 0 || search.different != 0) return false;
  *storage = {0, search.table[0].value};
  if (search.module == 0) return true;
  // The storage was read just now: without an entry it is at a fixed distance from the thread's
  // pointer.
  const Entry* const entry = FindEntry(search.table, search.module);
  if (entry != nullptr && entry->to_free != nullptr) storage->module = search.module;
  return true;
}

bool HasThreadStorage(const ThreadStorage& storage) {
  if (storage.module == 0) return true;
  const Entry* const table = OwnTable();
  // An entry of an earlier generation may be that of a library which had the number before.
  return table[0].value >= storage.generation && FindEntry(table, storage.module) != nullptr;
}

}  // namespace allomon::cpython
