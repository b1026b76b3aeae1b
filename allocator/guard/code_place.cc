#include "allocator/guard/code_place.h"

#include <elf.h>
#include <fcntl.h>

#include <cstring>
#include <initializer_list>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

// A file that is opened and read by raw calls: the C library's own functions are cancellation
// points, and the host may have replaced them.
class RawFile {
 public:
  explicit RawFile(const char* path) : fd_(sys::Open(path, O_RDONLY | O_CLOEXEC)) {}
  ~RawFile() {
    if (fd_ >= 0) sys::Close(fd_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  size_t Read(char* out, size_t bytes) const {
    const ssize_t got = sys::Read(fd_, out, bytes);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  size_t ReadAt(uint64_t offset, void* out, size_t bytes) const {
    const ssize_t got = sys::Pread(fd_, out, bytes, offset);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  // 0 if there is no file.
  uint64_t Inode() const {
    struct stat status;
    return fd_ >= 0 && sys::Fstat(fd_, &status) == 0 ? status.st_ino : 0;
  }
  template <typename T>
  bool Load(uint64_t offset, T* value) const {
    return ReadAt(offset, value, sizeof(T)) == sizeof(T);
  }

 private:
  const int fd_;
};

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  uint64_t inode = 0;
  const char* path = "";
};

ALLOMON_LARGE_ZEROS char g_text[8192];
ALLOMON_LARGE_ZEROS Elf64_Sym g_symbols[512];

uint64_t TakeHex(const char** at) {
  uint64_t value = 0;
  for (;; ++*at) {
    const char c = **at;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + static_cast<uint64_t>(digit);
  }
}

void SkipWord(const char** at) {
  while (**at != '\0' && **at != ' ') ++*at;
  while (**at == ' ') ++*at;
}

// The format of a line: begin-end access offset device inode path
Mapping ParseLine(const char* line) {
  Mapping mapping;
  mapping.begin = TakeHex(&line);
  if (*line == '-') ++line;
  mapping.end = TakeHex(&line);
  SkipWord(&line);
  SkipWord(&line);
  mapping.file_offset = TakeHex(&line);
  SkipWord(&line);
  SkipWord(&line);
  for (; *line >= '0' && *line <= '9'; ++line) {
    mapping.inode = mapping.inode * 10 + static_cast<uint64_t>(*line - '0');
  }
  SkipWord(&line);
  mapping.path = *line != '\0' ? line : "[anon]";
  return mapping;
}

// Reads the maps line by line through g_text, which then holds the mapping's path.
bool FindMapping(uint64_t pc, Mapping* mapping) {
  // /proc/self is not used: its maps are empty once the main thread has ended.
  const RawFile maps("/proc/thread-self/maps");
  size_t filled = 0;
  while (true) {
    const size_t got = maps.Read(g_text + filled, sizeof(g_text) - 1 - filled);
    filled += got;
    ALLOMON_DCHECK_LT("inv.host.text", filled, sizeof(g_text));
    g_text[filled] = '\0';
    char* line = g_text;
    while (char* newline = strchr(line, '\n')) {
      *newline = '\0';
      *mapping = ParseLine(line);
      if (mapping->begin <= pc && pc < mapping->end) return true;
      line = newline + 1;
    }
    // A line longer than the buffer ends the search, like the file's end.
    if (got == 0) return false;
    filled -= static_cast<size_t>(line - g_text);
    memmove(g_text, line, filled);
  }
}

class ElfReader {
 public:
  // A file other than the mapped one gives no names.  Devices are not compared: on some file
  // systems those in maps differ from those of stat(2).
  explicit ElfReader(const Mapping& mapping) : file_(mapping.path) {
    valid_ = file_.Inode() == mapping.inode && file_.Load(0, &header_) &&
             memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
             header_.e_ident[EI_CLASS] == ELFCLASS64;
  }

  bool AddressOf(uint64_t file_offset, uint64_t* address) const {
    for (uint32_t i = 0; valid_ && i < header_.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!file_.Load(header_.e_phoff + uint64_t{i} * sizeof(segment), &segment)) return false;
      if (segment.p_type != PT_LOAD || file_offset - segment.p_offset >= segment.p_filesz) continue;
      *address = file_offset - segment.p_offset + segment.p_vaddr;
      return true;
    }
    return false;
  }

  // Copies the symbol's name; "" without a symbol.
  void FindSymbol(uint64_t address, char* name, size_t room) const {
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
      Elf64_Shdr table;
      Elf64_Shdr names;
      if (!FindSection(type, &table) || !LoadSection(table.sh_link, &names)) continue;
      Elf64_Sym symbol{};
      if (!FindIn(table, address, &symbol)) continue;
      const size_t got = file_.ReadAt(names.sh_offset + symbol.st_name, name, room - 1);
      ALLOMON_DCHECK_LT("inv.host.text", got, room);
      name[got] = '\0';
      if (got > 0) return;
    }
  }

 private:
  bool LoadSection(uint32_t index, Elf64_Shdr* section) const {
    return index < header_.e_shnum &&
           file_.Load(header_.e_shoff + uint64_t{index} * sizeof(*section), section);
  }
  bool FindSection(uint32_t type, Elf64_Shdr* section) const {
    for (uint32_t i = 0; valid_ && i < header_.e_shnum; ++i) {
      if (LoadSection(i, section) && section->sh_type == type) return true;
    }
    return false;
  }

  // Finds the function that contains the address; of several, the one that starts last.
  bool FindIn(const Elf64_Shdr& table, uint64_t address, Elf64_Sym* best) const {
    bool found = false;
    for (uint64_t at = 0; at < table.sh_size;) {
      const size_t got = file_.ReadAt(table.sh_offset + at, g_symbols, sizeof(g_symbols));
      if (got < sizeof(Elf64_Sym)) break;
      const uint64_t left = (table.sh_size - at) / sizeof(Elf64_Sym);
      for (size_t i = 0; i < got / sizeof(Elf64_Sym) && i < left; ++i) {
        if (!Covers(g_symbols[i], address)) continue;
        if (!found || g_symbols[i].st_value > best->st_value) *best = g_symbols[i];
        found = true;
      }
      at += got / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    }
    return found;
  }

  static bool Covers(const Elf64_Sym& symbol, uint64_t address) {
    const uint32_t type = ELF64_ST_TYPE(symbol.st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
           address - symbol.st_value < symbol.st_size;
  }

  RawFile file_;
  Elf64_Ehdr header_ = {};
  bool valid_ = false;
};

void Copy(const char* text, char* out, size_t room) {
  const size_t length = strnlen(text, room - 1);
  memcpy(out, text, length);
  out[length] = '\0';
}

}  // namespace

void FindCodePlace(uintptr_t pc, CodePlace* place) {
  place->module[0] = place->symbol[0] = '\0';
  place->offset = pc;
  Mapping mapping;
  if (!FindMapping(pc, &mapping)) return;
  Copy(mapping.path, place->module, sizeof(place->module));
  place->offset = pc - mapping.begin + mapping.file_offset;
  if (place->module[0] != '/') return;
  const ElfReader elf(mapping);
  uint64_t address = 0;
  if (!elf.AddressOf(place->offset, &address)) return;
  place->offset = address;
  elf.FindSymbol(address, place->symbol, sizeof(place->symbol));
}

}  // namespace allomon::internal
