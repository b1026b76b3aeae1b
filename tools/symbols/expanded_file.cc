#include <elfutils/version.h>

#include "tools/symbols/code_file.h"

// Later versions of elfutils expand by themselves.
#if defined(ALLOMON_HAS_ZSTD) && !_ELFUTILS_PREREQ(0, 189)

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tracker/dwarf/file_bytes.h"

namespace allomon {
namespace {

constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which older headers lack
// Debug information shrinks to a third or a fourth.
constexpr uint64_t kMostRatio = 1024;
constexpr uint64_t kMostExpandedBytes = uint64_t{4} << 30;

class Mapped {
 public:
  Mapped(int fd, size_t size, int protection)
      : size_(size), begin_(mmap(nullptr, size, protection, MAP_SHARED, fd, 0)) {}
  ~Mapped() {
    if (is_there()) munmap(begin_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  bool is_there() const { return begin_ != MAP_FAILED; }
  char* begin() const { return static_cast<char*>(begin_); }
  Bytes bytes() const { return {begin(), size_}; }

 private:
  const size_t size_;
  void* const begin_;
};

// A section that is to be expanded.
struct Compressed {
  uint64_t header_offset;
  Elf64_Shdr section;
  Elf64_Chdr compression;
};

std::vector<Compressed> CompressedSections(Bytes file) {
  std::vector<Compressed> found;
  Elf64_Ehdr header;
  if (!ReadAt(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > file.size()) {
    return found;
  }
  uint64_t all = 0;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Compressed each = {header.e_shoff + i * sizeof(Elf64_Shdr), {}, {}};
    const Elf64_Shdr& section = each.section;
    if (!ReadAt(file, each.header_offset, &each.section)) break;
    if ((section.sh_flags & SHF_COMPRESSED) == 0 || section.sh_type == SHT_NOBITS) continue;
    if (section.sh_size > file.size() || !ReadAt(file, section.sh_offset, &each.compression) ||
        section.sh_offset > file.size() - section.sh_size || section.sh_size < sizeof(Elf64_Chdr) ||
        each.compression.ch_type != kZstd) {
      continue;
    }
    const uint64_t bytes = each.compression.ch_size;
    if (bytes > kMostExpandedBytes - all || bytes / kMostRatio > section.sh_size) continue;
    all += bytes;
    found.push_back(each);
  }
  return found;
}

// The sections' new places are after the file, each at a multiple of 16.
uint64_t Aligned(uint64_t offset) { return (offset + 15) / 16 * 16; }

bool WriteExpanded(Bytes file, const std::vector<Compressed>& sections, int copy) {
  uint64_t size = Aligned(file.size());
  for (const Compressed& each : sections) size += Aligned(each.compression.ch_size);
  if (ftruncate(copy, static_cast<off_t>(size)) != 0) return false;
  const Mapped target(copy, size, PROT_READ | PROT_WRITE);
  if (!target.is_there()) return false;
  std::memcpy(target.begin(), file.data(), file.size());
  uint64_t at = Aligned(file.size());
  for (const Compressed& each : sections) {
    Elf64_Shdr section = each.section;
    const uint64_t bytes = each.compression.ch_size;
    const char* const from = file.data() + section.sh_offset + sizeof(Elf64_Chdr);
    const size_t got =
        ZSTD_decompress(target.begin() + at, bytes, from, section.sh_size - sizeof(Elf64_Chdr));
    if (ZSTD_isError(got) != 0 || got != bytes) return false;
    section.sh_flags &= ~uint64_t{SHF_COMPRESSED};
    section.sh_offset = at;
    section.sh_size = bytes;
    section.sh_addralign = each.compression.ch_addralign;
    std::memcpy(target.begin() + each.header_offset, &section, sizeof(section));
    at += Aligned(bytes);
  }
  return true;
}

size_t BytesOf(int fd) {
  struct stat status = {};
  const bool is_file = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return is_file && status.st_size > 0 ? static_cast<size_t>(status.st_size) : 0;
}

}  // namespace

bool IsExpandable(int fd) {
  const size_t bytes = BytesOf(fd);
  if (bytes == 0) return false;
  const Mapped file(fd, bytes, PROT_READ);
  return file.is_there() && !CompressedSections(file.bytes()).empty();
}

int ExpandedFile(int fd) {
  const size_t bytes = BytesOf(fd);
  if (bytes == 0) return fd;
  const Mapped file(fd, bytes, PROT_READ);
  if (!file.is_there()) return fd;
  const std::vector<Compressed> sections = CompressedSections(file.bytes());
  if (sections.empty()) return fd;
  const int copy = memfd_create("allomon expanded", MFD_CLOEXEC);
  if (copy >= 0 && WriteExpanded(file.bytes(), sections, copy)) {
    close(fd);
    return copy;
  }
  if (copy >= 0) close(copy);
  return fd;
}

}  // namespace allomon

#else

namespace allomon {

int ExpandedFile(int fd) { return fd; }
bool IsExpandable(int) { return false; }

}  // namespace allomon

#endif
