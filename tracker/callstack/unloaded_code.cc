#include "tracker/callstack/unloaded_code.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/base/next_symbol.h"
#include "tracker/callstack/mapped_files.h"

namespace allomon::internal {
namespace {

// Bit 62, then the 12 bits of a module's number, then the 40 bits of an address in its file.
// Canonical addresses of x86-64 programs have 47 bits, 56 with five-level page tables.
constexpr int kAddressBits = 40;
constexpr uint32_t kMaxModules = 4096;
constexpr uintptr_t kTag = uintptr_t{1} << 62;

// Entry 0 stays empty.  Filled from the front; an entry that is set never changes.
ALLOMON_LARGE_ZEROS std::atomic<UnloadedModule*> g_modules[kMaxModules];

uintptr_t BiasOf(uint32_t number) {
  ALLOMON_DCHECK_LT("inv.unloaded.tag", number, kMaxModules);
  return kTag | uintptr_t{number} << kAddressBits;
}

std::string BuildIdOf(const dl_phdr_info& info) {
  uint8_t id[kMostBuildIdBytes];
  return ToHex(id, ReadBuildId(info.dlpi_phdr, info.dlpi_phnum, info.dlpi_addr, id, sizeof(id)));
}

struct Listing {
  std::vector<LoadedModule> modules;
  uint64_t unloads = 0;
};

int AddModule(dl_phdr_info* info, size_t, void* listing) {
  LoadedModule module = {info->dlpi_name, BuildIdOf(*info), info->dlpi_addr, {}, {}};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      module.code.push_back({begin, begin + header.p_memsz});
    }
  }
  static_cast<Listing*>(listing)->modules.push_back(std::move(module));
  static_cast<Listing*>(listing)->unloads = info->dlpi_subs;
  return 0;
}

// A program may lack it: up to glibc 2.33 it is in a library of its own.
NextSymbol<int(void*, int, void*)> g_dlinfo("dlinfo");

// Returns a module of the namespace of `handle`; null if that is the program's own.
link_map* FindInOtherNamespace(void* handle) {
  const auto ask = handle == nullptr ? nullptr : g_dlinfo.Find();
  Lmid_t space = LM_ID_BASE;
  link_map* map = nullptr;
  if (ask == nullptr || ask(handle, RTLD_DI_LMID, &space) != 0 || space == LM_ID_BASE) {
    return nullptr;
  }
  return ask(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

struct NamespaceListing {
  const link_map* any;
  std::vector<LoadedModule> modules;
};

// Called once, for the loader's lock: nothing is added to the list meanwhile, or removed from it.
int AddNamespace(dl_phdr_info*, size_t, void* data) {
  auto* const listing = static_cast<NamespaceListing*>(data);
  const link_map* map = listing->any;
  while (map->l_prev != nullptr) map = map->l_prev;
  for (; map != nullptr; map = map->l_next) {
    dl_find_object found;
    // The dynamic linker is in each namespace, and is found in the first.
    if (_dl_find_object(map->l_ld, &found) != 0 || found.dlfo_link_map != map) continue;
    const auto begin = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
    const auto end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
    uint8_t id[kMostBuildIdBytes];
    const size_t id_bytes = ReadBuildId(begin, end, map->l_addr, id, sizeof(id));
    listing->modules.push_back({map->l_name, ToHex(id, id_bytes), map->l_addr, {{begin, end}}, {}});
  }
  return 1;
}

// The loader keeps the name that dlopen was given, and the current directory may change.
std::string Absolute(const std::string& path) {
  char absolute[PATH_MAX];
  return path[0] == '/' || realpath(path.c_str(), absolute) == nullptr ? path : absolute;
}

bool SameFile(const UnloadedModule& a, const UnloadedModule& b) {
  return a.path == b.path && a.build_id == b.build_id && a.file.state == b.file.state &&
         a.file.identity == b.file.identity;
}

}  // namespace

std::string ToHex(const uint8_t* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::vector<LoadedModule> LoadedModules(uint64_t* unloads) {
  Listing listing;
  dl_iterate_phdr(AddModule, &listing);
  if (unloads != nullptr) *unloads = listing.unloads;
  return std::move(listing.modules);
}

std::vector<LoadedModule> ModulesOfOtherNamespace(void* handle) {
  NamespaceListing listing = {FindInOtherNamespace(handle), {}};
  if (listing.any != nullptr) dl_iterate_phdr(AddNamespace, &listing);
  return std::move(listing.modules);
}

bool IsStillLoaded(const LoadedModule& module) {
  dl_find_object found;
  const uintptr_t begin = module.code.front().begin;
  return _dl_find_object(reinterpret_cast<void*>(begin), &found) == 0 &&
         reinterpret_cast<uintptr_t>(found.dlfo_map_start) == begin &&
         found.dlfo_link_map->l_addr == module.bias && found.dlfo_link_map->l_name == module.path;
}

// Takes no lock, so that a child of a fork never finds one held.
uintptr_t UnloadedBias(const LoadedModule& module) {
  UnloadedModule* const mine =
      new UnloadedModule{Absolute(module.path), module.build_id, module.file};
  for (uint32_t number = 1; number < kMaxModules; ++number) {
    UnloadedModule* known = nullptr;
    // Release pairs with the acquire in FindUnloadedModule().
    if (g_modules[number].compare_exchange_strong(known, mine, std::memory_order_acq_rel)) {
      return BiasOf(number);
    }
    if (SameFile(*known, *mine)) {
      delete mine;
      return BiasOf(number);
    }
  }
  delete mine;
  return NamelessBias();
}

uintptr_t NamelessBias() { return BiasOf(0); }

const UnloadedModule* FindUnloadedModule(uintptr_t address, uint64_t* file_address) {
  ALLOMON_DCHECK("inv.unloaded.tag", IsUnloadedCode(address));
  *file_address = address & ((uintptr_t{1} << kAddressBits) - 1);
  return g_modules[address >> kAddressBits & (kMaxModules - 1)].load(std::memory_order_acquire);
}

bool IsFileOf(const UnloadedModule& module, const std::string& build_id, const FileIdentity& file) {
  if (!module.build_id.empty()) return module.build_id == build_id;
  return module.file.state == FileState::kAtPath && module.file.identity == file;
}

}  // namespace allomon::internal
