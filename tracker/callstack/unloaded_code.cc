#include "tracker/callstack/unloaded_code.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace allomon::internal {
namespace {

// Bit 62, then the 12 bits of a module's number, then the 40 bits of an address in its file.
// Canonical addresses of x86-64 programs have 47 bits, 56 with five-level page tables.
constexpr int kAddressBits = 40;
constexpr uint32_t kMaxModules = 4096;
constexpr uintptr_t kTag = uintptr_t{1} << 62;

// Entry 0 stays empty.  Filled from the front; an entry that is set never changes.
std::atomic<UnloadedModule*> g_modules[kMaxModules];

uintptr_t BiasOf(uint32_t number) { return kTag | uintptr_t{number} << kAddressBits; }

std::string Hex(const uint8_t* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

size_t RoundUpToWord(size_t size) { return (size + 3) & ~size_t{3}; }

// elf(5): notes of a name, a description and a type, each padded to four bytes.
std::string BuildIdIn(const uint8_t* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof(note));
    const size_t name_end = sizeof(note) + RoundUpToWord(note.n_namesz);
    const size_t end = name_end + RoundUpToWord(note.n_descsz);
    if (end > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes + sizeof(note), "GNU", 4) == 0) {
      return Hex(notes + name_end, note.n_descsz);
    }
    notes += end;
    size -= end;
  }
  return "";
}

// Notes need not be loaded.
bool IsLoaded(const dl_phdr_info& info, const ElfW(Phdr) & notes) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 &&
        notes.p_vaddr - segment.p_vaddr < segment.p_filesz &&
        notes.p_filesz <= segment.p_filesz - (notes.p_vaddr - segment.p_vaddr)) {
      return true;
    }
  }
  return false;
}

int AddModule(dl_phdr_info* info, size_t, void* modules) {
  LoadedModule module = {info->dlpi_name, "", info->dlpi_addr, {}};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      module.code.push_back({begin, begin + header.p_memsz});
    }
    if (header.p_type == PT_NOTE && module.build_id.empty() && IsLoaded(*info, header)) {
      module.build_id = BuildIdIn(reinterpret_cast<const uint8_t*>(begin), header.p_filesz);
    }
  }
  static_cast<std::vector<LoadedModule>*>(modules)->push_back(std::move(module));
  return 0;
}

// The loader keeps the name as dlopen was given it, and the current directory may change.
std::string Absolute(const std::string& path) {
  char absolute[PATH_MAX];
  return path[0] == '/' || realpath(path.c_str(), absolute) == nullptr ? path : absolute;
}

UnloadedModule FileOf(const LoadedModule& module) {
  UnloadedModule file = {Absolute(module.path), module.build_id, 0, 0, 0};
  struct stat status;
  if (stat(module.path.c_str(), &status) == 0) {
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  }
  return file;
}

bool SameFile(const UnloadedModule& a, const UnloadedModule& b) {
  return a.path == b.path && a.build_id == b.build_id && a.device == b.device &&
         a.inode == b.inode && a.modified_ns == b.modified_ns;
}

}  // namespace

std::vector<LoadedModule> LoadedModules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(AddModule, &modules);
  return modules;
}

// Without a lock, so that a child of a fork never finds one held.
uintptr_t UnloadedBias(const LoadedModule& module) {
  UnloadedModule* const mine = new UnloadedModule(FileOf(module));
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
  *file_address = address & ((uintptr_t{1} << kAddressBits) - 1);
  return g_modules[address >> kAddressBits & (kMaxModules - 1)].load(std::memory_order_acquire);
}

bool IsStillThere(const UnloadedModule& module, const std::string& build_id_of_file) {
  if (!module.build_id.empty()) return module.build_id == build_id_of_file;
  return module.inode != 0 && SameFile(module, FileOf({module.path, "", 0, {}}));
}

}  // namespace allomon::internal
