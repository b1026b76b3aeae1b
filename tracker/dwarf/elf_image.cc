#include "tracker/dwarf/elf_image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "tracker/base/check.h"

namespace allomon {
namespace {

uint64_t Aligned(uint64_t size) { return (size + 7) / 8 * 8; }

}  // namespace

ElfImage::~ElfImage() {
  if (begin_ != nullptr) munmap(begin_, size_);
}

void ElfImage::Add(const char* name, std::string bytes) {
  names_.push_back(name);
  parts_.push_back(std::move(bytes));
}

bool ElfImage::Make(const char* name, int fd, uint64_t offset, uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t skipped = offset % page;
  Add(name, {});
  std::string table = NameTable();
  Add(".shstrtab", std::move(table));
  uint64_t end = sizeof(Elf64_Ehdr);
  for (const std::string& part : parts_) end += Aligned(part.size());
  const uint64_t headers = end;
  const uint64_t copied = (end + parts_.size() * sizeof(Elf64_Shdr) + page - 1) / page * page;
  size_ = copied + skipped + bytes;
  void* const memory =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  begin_ = static_cast<char*>(memory);
  if (bytes > 0 &&
      mmap(begin_ + copied, skipped + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
           static_cast<off_t>(offset - skipped)) == MAP_FAILED) {
    return false;
  }
  WriteHeader(headers);
  WriteSections(headers, copied + skipped, bytes);
  return true;
}

// The names' places are by their order.
std::string ElfImage::NameTable() const {
  std::string table;
  for (const char* const name : names_) table.append(name).push_back('\0');
  return table.append(".shstrtab").append(1, '\0');
}

void ElfImage::WriteHeader(uint64_t headers) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = headers;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(parts_.size());
  header.e_shstrndx = static_cast<Elf64_Half>(parts_.size() - 1);
  std::memcpy(begin_, &header, sizeof(header));
}

void ElfImage::WriteSections(uint64_t headers, uint64_t mapped, uint64_t mapped_bytes) {
  ALLOMON_DCHECK_LE("inv.dwarf.image", headers + parts_.size() * sizeof(Elf64_Shdr), mapped);
  uint64_t at = sizeof(Elf64_Ehdr);
  uint64_t name_at = 0;
  [[maybe_unused]] const uint64_t names_bytes = parts_.back().size();
  for (size_t i = 0; i < parts_.size(); ++i) {
    Elf64_Shdr section = {};
    const bool is_mapped = i + 2 == parts_.size();
    section.sh_name = static_cast<Elf64_Word>(name_at);
    section.sh_type = i == 0 ? SHT_NULL : i + 1 == parts_.size() ? SHT_STRTAB : SHT_PROGBITS;
    section.sh_offset = is_mapped ? mapped : at;
    section.sh_size = is_mapped ? mapped_bytes : parts_[i].size();
    section.sh_addralign = 1;
    ALLOMON_DCHECK_LE("inv.dwarf.image", at + parts_[i].size(), headers);
    std::memcpy(begin_ + at, parts_[i].data(), parts_[i].size());
    std::memcpy(begin_ + headers + i * sizeof(section), &section, sizeof(section));
    name_at += std::strlen(names_[i]) + 1;
    at += Aligned(parts_[i].size());
    parts_[i] = std::string();
  }
  ALLOMON_DCHECK_EQ("inv.dwarf.image", at, headers);
  ALLOMON_DCHECK_EQ("inv.dwarf.image", name_at, names_bytes);
}

}  // namespace allomon
