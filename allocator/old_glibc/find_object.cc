#include "allocator/old_glibc/find_object.h"

#include <elf.h>
#include <link.h>
#include <sched.h>
#include <sys/auxv.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tracker/base/page_size.h"

namespace allomon::internal {
namespace {

struct ProgramHeaders {
  const ElfW(Phdr) * begin = nullptr;
  const ElfW(Phdr) * end = nullptr;
};

// The kernel reports the program's headers; its bias is 0 unless it is position-independent.
ProgramHeaders OfProgram() {
  const auto* const begin = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  return {begin, begin + getauxval(AT_PHNUM)};
}

// The first page of a library is that of its file, with the headers.
ProgramHeaders OfLibrary(uintptr_t bias) {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(bias);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto* const begin = reinterpret_cast<const ElfW(Phdr)*>(bias + header->e_phoff);
  return {begin, begin + header->e_phnum};
}

struct Extent {
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  const void* eh_frame = nullptr;
};

Extent ExtentOf(const ProgramHeaders& headers, uintptr_t bias) {
  Extent extent;
  for (const ElfW(Phdr)* header = headers.begin; header != headers.end; ++header) {
    const uintptr_t begin = bias + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) extent.eh_frame = reinterpret_cast<void*>(begin);
    if (header->p_type != PT_LOAD) continue;
    extent.begin = std::min(extent.begin, begin & -PageBytes());
    extent.end = std::max(extent.end, begin + header->p_memsz);
  }
  return extent;
}

template <typename Value>
Value Load(const Value& value) {
  return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}

bool IsUnloading() { return Load(_r_debug.r_state) == r_debug::RT_DELETE; }

// Returns the last object that begins at or before the address.  Objects do not overlap, so the
// address is in this one or in no object.  The program is the first in the list; without position
// independence it has the bias 0.
link_map* Nearest(uintptr_t address) {
  link_map* nearest = nullptr;
  for (link_map* object = Load(_r_debug.r_map); object != nullptr; object = Load(object->l_next)) {
    if (IsUnloading()) return nullptr;
    const bool is_before = object->l_addr <= address;
    if (is_before && (nearest == nullptr || object->l_addr > nearest->l_addr)) nearest = object;
  }
  return nearest;
}

// Both counts are sequentially consistent: a lookup raises its own before it reads the other, and
// so does a guard, so at least one of the two sees the other.
std::atomic<int> g_lookups{0};
std::atomic<int> g_guards{0};

int FindInList(uintptr_t address, dl_find_object* found) {
  link_map* const object = Nearest(address);
  if (object == nullptr) return -1;
  const bool is_program = object == _r_debug.r_map;
  const ProgramHeaders headers = is_program ? OfProgram() : OfLibrary(object->l_addr);
  const Extent extent = ExtentOf(headers, object->l_addr);
  if (address < extent.begin || address >= extent.end) return -1;
  *found = {};
  found->dlfo_map_start = reinterpret_cast<void*>(extent.begin);
  found->dlfo_map_end = reinterpret_cast<void*>(extent.end);
  found->dlfo_link_map = object;
  found->dlfo_eh_frame = const_cast<void*>(extent.eh_frame);
  return 0;
}

}  // namespace

int FindLoadedObject(uintptr_t address, dl_find_object* found) {
  g_lookups.fetch_add(1);
  const int status = g_guards.load() == 0 ? FindInList(address, found) : -1;
  g_lookups.fetch_sub(1);
  return status;
}

UnloadGuard::UnloadGuard() {
  constexpr int kTurns = 10000;
  g_guards.fetch_add(1);
  for (int i = 0; i < kTurns && g_lookups.load() != 0; ++i) sched_yield();
}

UnloadGuard::~UnloadGuard() { g_guards.fetch_sub(1); }

}  // namespace allomon::internal
