#include "tracker/profile/hooks/hook_scan.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace allomon::internal {
namespace {

// A file, mapped as long as this lives.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat status = {};
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      size_ = static_cast<size_t>(status.st_size);
      void* const pages = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (pages != MAP_FAILED) data_ = static_cast<const char*>(pages);
    }
    close(fd);
  }
  ~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // An array of `count` at `offset`; null if the file does not hold it.
  template <typename T>
  const T* At(uint64_t offset, uint64_t count) const {
    if (data_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// A file's code as it is loaded.
struct LoadedCode {
  std::string path;
  uintptr_t bias = 0;  // what the loader added to the file's addresses
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;

  bool Holds(uintptr_t begin, size_t size) const {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
      return begin >= range.first && begin < range.second && range.second - begin >= size;
    });
  }
};

// How many modules there are before any is loaded by dlopen; 0: that is now.  The loader lists
// those that come later behind them.
size_t g_modules_at_start = 0;

// Before the constructor that starts a profile from the environment.
__attribute__((constructor(101))) void CountModulesAtStart() {
  dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { return ++g_modules_at_start, 0; }, nullptr);
}

LoadedCode CodeOf(const dl_phdr_info& info) {
  LoadedCode code;
  code.path = info.dlpi_name;
  code.bias = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = code.bias + segment.p_vaddr;
    code.ranges.emplace_back(begin, begin + segment.p_memsz);
  }
  return code;
}

// The executable comes first, and has no name.
std::vector<LoadedCode> ModulesAtStart() {
  std::vector<LoadedCode> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        auto& found = *static_cast<std::vector<LoadedCode>*>(result);
        found.push_back(CodeOf(*info));
        return found.size() == g_modules_at_start ? 1 : 0;
      },
      &modules);
  modules[0].path = "/proc/self/exe";
  return modules;
}

using Nop = unsigned char[kHookBytes];

// g++ writes nine no-ops, clang++ one of nine bytes.
constexpr Nop kNops[] = {
    {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};

// Where indirect calls land, with -fcf-protection.
constexpr std::string_view kLanding = "\xf3\x0f\x1e\xfa";

bool StartsWith(uintptr_t address, const void* bytes, size_t size) {
  return memcmp(reinterpret_cast<const void*>(address), bytes, size) == 0;
}

// The address of its no-ops; 0 if the function has none.
uintptr_t HookOf(uintptr_t start, const LoadedCode& code) {
  if (!code.Holds(start, kLanding.size() + kHookBytes)) return 0;
  if (StartsWith(start, kLanding.data(), kLanding.size())) start += kLanding.size();
  for (const Nop& nop : kNops) {
    if (StartsWith(start, nop, kHookBytes)) return start;
  }
  return 0;
}

template <typename Visit>
void ForEachSymbol(const MappedFile& file, Visit visit) {
  const auto* header = file.At<ElfW(Ehdr)>(0, 1);
  if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  if (header->e_shentsize != sizeof(ElfW(Shdr))) return;
  const auto* sections = file.At<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  for (int i = 0; sections != nullptr && i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const uint64_t count = sections[i].sh_size / sizeof(ElfW(Sym));
    const auto* symbols = file.At<ElfW(Sym)>(sections[i].sh_offset, count);
    for (uint64_t s = 0; symbols != nullptr && s < count; ++s) visit(symbols[s]);
  }
}

}  // namespace

namespace {

std::vector<uintptr_t> HooksOf(const LoadedCode& code) {
  const MappedFile file(code.path.c_str());
  std::vector<uintptr_t> hooks;
  ForEachSymbol(file, [&](const ElfW(Sym) & symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) return;
    const uintptr_t hook = HookOf(code.bias + symbol.st_value, code);
    if (hook != 0) hooks.push_back(hook);
  });
  std::sort(hooks.begin(), hooks.end());
  hooks.erase(std::unique(hooks.begin(), hooks.end()), hooks.end());  // aliases
  return hooks;
}

}  // namespace

HooksFound ScanForHooks() {
  HooksFound found;
  for (const LoadedCode& module : ModulesAtStart()) {
    const std::vector<uintptr_t> hooks = HooksOf(module);
    if (hooks.empty()) continue;
    found.starts.insert(found.starts.end(), hooks.begin(), hooks.end());
    found.module_ends.push_back(found.starts.size());
  }
  return found;
}

}  // namespace allomon::internal
