// Slots and symbols are written through /proc/self/mem: the kernel then copies a page that may not
// be written, and its protection stays as it is.  The read-only part of a module (RELRO) is never
// writable, and a page that has both symbols and code is executable throughout.
//
// Interface: gABI, "Relocation"; psABI of the processor, "Relocation Types".
#include "allocator/overrides/rebinding.h"

#include <fcntl.h>

#include <cstring>

#include "allocator/overrides/symbol_table.h"
#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kGlobalData = R_X86_64_GLOB_DAT;
constexpr uint32_t kAddress = R_X86_64_64;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kGlobalData = R_AARCH64_GLOB_DAT;
constexpr uint32_t kAddress = R_AARCH64_ABS64;
#endif

class OwnPages {
 public:
  OwnPages() : file_(sys::Open("/proc/self/mem", O_RDWR | O_CLOEXEC)) {}
  ~OwnPages() {
    if (file_ >= 0) sys::Close(file_);
  }
  OwnPages(const OwnPages&) = delete;
  OwnPages& operator=(const OwnPages&) = delete;

  bool IsOpen() const { return file_ >= 0; }
  bool Write(const void* at, uint64_t value) const {
    return sys::Pwrite(file_, &value, sizeof(value), reinterpret_cast<uintptr_t>(at)) ==
           sizeof(value);
  }

 private:
  const int file_;
};

// kTry writes what is there already.
enum class Pass { kTry, kChange };

struct Relocations {
  const ElfW(Rela) * begin = nullptr;
  size_t count = 0;
};

struct Object {
  const link_map* map;
  SymbolTable table;
  Relocations data;
  Relocations jumps;
  bool has_text_relocations = false;
};

Object ObjectOf(const link_map& map) {
  Object object = {&map, TableOf(map), {}, {}};
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t value = entry->d_un.d_ptr;
    const size_t count = value / sizeof(ElfW(Rela));
    if (entry->d_tag == DT_RELA) object.data.begin = LoadedPointer<ElfW(Rela)>(map, value);
    if (entry->d_tag == DT_RELASZ) object.data.count = count;
    if (entry->d_tag == DT_JMPREL) object.jumps.begin = LoadedPointer<ElfW(Rela)>(map, value);
    if (entry->d_tag == DT_PLTRELSZ) object.jumps.count = count;
    if (entry->d_tag == DT_TEXTREL) object.has_text_relocations = true;
    if (entry->d_tag == DT_FLAGS && (value & DF_TEXTREL) != 0) object.has_text_relocations = true;
  }
  return object;
}

// The addresses of the functions of one definer.
struct Extent {
  uintptr_t first = UINTPTR_MAX;
  uintptr_t last = 0;

  void Add(uintptr_t address) {
    if (address < first) first = address;
    if (address > last) last = address;
  }
  bool Has(uintptr_t address) const { return first <= address && address <= last; }
};

class Rebinder {
 public:
  Rebinder(const Rebinding* rebindings, size_t count) : rebindings_(rebindings), count_(count) {
    for (size_t i = 0; i < count; ++i) {
      extents_[rebindings[i].is_hidden].Add(AddressBefore(rebindings[i]));
    }
  }

  bool IsOpen() const { return pages_.IsOpen(); }

  // Symbols come last: they tell the addresses that slots hold before.
  bool RunOver(Pass pass) const {
    const link_map* const library = ObjectOfLibrary();
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
      if (map == library) continue;
      const Object object = ObjectOf(*map);
      // The dynamic table of an object without symbols is not read further.
      if (object.table.symbols == nullptr || object.table.names == nullptr) continue;
      if (!ChangeSlots(object, object.data, pass) || !ChangeSlots(object, object.jumps, pass)) {
        return false;
      }
    }
    for (size_t i = 0; i < count_; ++i) {
      if (!ChangeSymbol(rebindings_[i], pass)) return false;
    }
    return true;
  }

 private:
  static uintptr_t AddressBefore(const Rebinding& rebinding) {
    return rebinding.definer->l_addr + rebinding.symbol->st_value;
  }

  // A symbol without a value is passed by where the loader looks up.
  bool ChangeSymbol(const Rebinding& rebinding, Pass pass) const {
    const uint64_t before = rebinding.symbol->st_value;
    const uint64_t after = rebinding.is_hidden ? 0 : rebinding.to - rebinding.definer->l_addr;
    return pages_.Write(&rebinding.symbol->st_value, pass == Pass::kTry ? before : after);
  }

  // nullptr if the slot is to stay.  A slot that was not bound yet holds an address of its own
  // module: the loader binds it by the symbol, as it binds modules that are loaded later.
  const Rebinding* RebindingOf(const Object& object, const ElfW(Rela) & slot) const {
    const uint32_t type = ELF64_R_TYPE(slot.r_info);
    const bool is_bound = type == kJumpSlot || type == kGlobalData ||
                          (type == kAddress && slot.r_addend == 0 && !object.has_text_relocations);
    if (!is_bound) return nullptr;
    uintptr_t address = 0;
    memcpy(&address, SlotAt(object, slot), sizeof(address));
    if (!extents_[0].Has(address) && !extents_[1].Has(address)) return nullptr;
    for (size_t i = 0; i < count_; ++i) {
      const Rebinding& rebinding = rebindings_[i];
      if (address != AddressBefore(rebinding) || object.map == rebinding.definer) continue;
      const ElfW(Sym)& symbol = object.table.symbols[ELF64_R_SYM(slot.r_info)];
      if (strcmp(object.table.names + symbol.st_name, rebinding.name) != 0) continue;
      const bool may_be_null = ELF64_ST_BIND(symbol.st_info) == STB_WEAK;
      return rebinding.to != 0 || may_be_null ? &rebinding : nullptr;
    }
    return nullptr;
  }

  static const void* SlotAt(const Object& object, const ElfW(Rela) & slot) {
    return reinterpret_cast<const void*>(object.map->l_addr + slot.r_offset);
  }

  bool ChangeSlots(const Object& object, const Relocations& slots, Pass pass) const {
    for (size_t i = 0; i < slots.count; ++i) {
      const Rebinding* const rebinding = RebindingOf(object, slots.begin[i]);
      if (rebinding == nullptr) continue;
      const uint64_t value = pass == Pass::kTry ? AddressBefore(*rebinding) : rebinding->to;
      if (!pages_.Write(SlotAt(object, slots.begin[i]), value)) return false;
    }
    return true;
  }

  const Rebinding* const rebindings_;
  const size_t count_;
  Extent extents_[2];  // by is_hidden: most slots hold an address in neither
  const OwnPages pages_;
};

}  // namespace

const char* Rebind(const Rebinding* rebindings, size_t count) {
  const Rebinder rebinder(rebindings, count);
  if (!rebinder.IsOpen()) return "/proc/self/mem cannot be opened";
  if (!rebinder.RunOver(Pass::kTry)) return "/proc/self/mem cannot be written";
  // Each page was copied by the first pass, so this one needs no memory.  A slot that stayed would
  // be a caller that is not seen, and nothing else: each block is the executable's.
  [[maybe_unused]] const bool is_done = rebinder.RunOver(Pass::kChange);
  ALLOMON_DCHECK("inv.rebind.whole", is_done);
  return nullptr;
}

}  // namespace allomon::internal
