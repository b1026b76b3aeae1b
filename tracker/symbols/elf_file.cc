#include "tracker/symbols/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tracker/base/check.h"
#include "tracker/base/elf_notes.h"
#include "tracker/base/page_size.h"
#include "tracker/base/uncancelled.h"
#include "tracker/callstack/unloaded_code.h"

namespace allomon::internal {

std::atomic<bool> elf_memory_refused{false};

namespace {

struct MappedWhole {
  const uint8_t* data = nullptr;
  size_t size = 0;
  FileIdentity identity;
  int error = 0;
};

MappedWhole MapFile(const std::string& path) {
  const Uncancelled uncancelled;
  MappedWhole file;
  // O_NONBLOCK, because the path may be a FIFO by now.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    file.error = errno;
    return file;
  }
  struct stat status;
  void* image = MAP_FAILED;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    image = mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED) file.error = errno;
    if (file.error == ENOMEM) elf_memory_refused.store(true);
  }
  close(fd);
  if (image == MAP_FAILED) return file;
  file.data = static_cast<const uint8_t*>(image);
  file.size = static_cast<size_t>(status.st_size);
  file.identity = IdentityOf(status);
  return file;
}

uint64_t AlignTo4(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

std::string BuildIdIn(const ByteReader& notes) {
  const ByteReader id = FindBuildId(notes);
  return ToHex(id.position(), id.remaining());
}

}  // namespace

std::unique_ptr<ElfFile> ElfFile::Open(const std::string& path) {
  int error;
  return Open(path, &error);
}

std::unique_ptr<ElfFile> ElfFile::Open(const std::string& path, int* error) {
  const MappedWhole mapped = MapFile(path);
  *error = mapped.error;
  if (mapped.data == nullptr) return nullptr;
  std::unique_ptr<ElfFile> file(new ElfFile(mapped.data, mapped.size, true));
  file->identity_ = mapped.identity;
  if (file->Parse()) return file;
  *error = ENOEXEC;
  return nullptr;
}

std::unique_ptr<ElfFile> ElfFile::FromMemory(const uint8_t* image, size_t size_bytes) {
  std::unique_ptr<ElfFile> file(new ElfFile(image, size_bytes, false));
  return file->Parse() ? std::move(file) : nullptr;
}

ElfFile::~ElfFile() {
  if (owns_mapping_) munmap(const_cast<uint8_t*>(data_), size_);
}

ByteReader ElfFile::At(uint64_t offset, uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) return ByteReader();
  return ByteReader(data_ + offset, data_ + offset + bytes);
}

// Returns the headers that lie in the file: a count that is too large is reduced.
template <typename Entry>
ElfFile::Table ElfFile::TableAt(uint64_t offset, uint64_t entry_bytes, uint64_t count) const {
  if (entry_bytes < sizeof(Entry) || offset > size_ || size_ - offset < sizeof(Entry)) return {};
  const uint64_t room = (size_ - offset - sizeof(Entry)) / entry_bytes + 1;
  return {offset, entry_bytes, std::min(count, room)};
}

template <typename Entry>
Entry ElfFile::Load(const Table& table, uint64_t number) const {
  ALLOMON_DCHECK_LT("inv.symbols.bounded", number, table.count);
  Entry entry;
  std::memcpy(&entry, data_ + table.offset + number * table.entry_bytes, sizeof(Entry));
  return entry;
}

bool ElfFile::Parse() {
  ByteReader reader(data_, data_ + size_);
  const auto header = reader.Read<Elf64_Ehdr>();
  if (!reader.ok() || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return false;
  }
  segments_ = TableAt<Elf64_Phdr>(header.e_phoff, header.e_phentsize, header.e_phnum);
  uint64_t count = header.e_shnum;
  uint64_t names = header.e_shstrndx;
  if (count == 0 || names == SHN_XINDEX) {
    // Numbers too large for the header are in section 0.
    const auto first = At(header.e_shoff, sizeof(Elf64_Shdr)).Read<Elf64_Shdr>();
    if (count == 0) count = first.sh_size;
    if (names == SHN_XINDEX) names = first.sh_link;
  }
  sections_ = TableAt<Elf64_Shdr>(header.e_shoff, header.e_shentsize, count);
  if (names < sections_.count) names_ = Section(names).data;
  return true;
}

ElfSection ElfFile::Section(size_t number) const {
  const auto header = Load<Elf64_Shdr>(sections_, number);
  ElfSection section = {};
  section.name_at = header.sh_name;
  section.type = header.sh_type;
  section.address = header.sh_addr;
  section.size = header.sh_size;
  section.link = header.sh_link;
  const bool has_data = header.sh_type != SHT_NOBITS && (header.sh_flags & SHF_COMPRESSED) == 0;
  if (has_data) section.data = At(header.sh_offset, header.sh_size);
  return section;
}

std::string_view ElfFile::NameOf(const ElfSection& section) const {
  return names_.StringAt(section.name_at);
}

std::optional<ElfSection> ElfFile::FindSection(std::string_view name) const {
  for (size_t i = 0; i < section_count(); ++i) {
    const ElfSection section = Section(i);
    if (NameOf(section) == name) return section;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::AddressOfOffset(uint64_t offset) const {
  // A segment is mapped by whole pages, so an offset may lie outside of its segment and still be
  // mapped with it.  A segment that contains the offset is the better answer.
  const uint64_t page_bytes = PageBytes();
  std::optional<uint64_t> near;
  for (uint64_t i = 0; i < segments_.count; ++i) {
    const auto segment = Load<Elf64_Phdr>(segments_, i);
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t from_start = offset - segment.p_offset;
    if (offset >= segment.p_offset && from_start < segment.p_filesz) {
      return segment.p_vaddr + from_start;
    }
    const uint64_t from_page = offset - (segment.p_offset & ~(page_bytes - 1));
    if (from_page < segment.p_filesz + 2 * page_bytes) near = segment.p_vaddr + from_start;
  }
  return near;
}

uint16_t ElfFile::machine() const { return At(0, sizeof(Elf64_Ehdr)).Read<Elf64_Ehdr>().e_machine; }

ByteReader ElfFile::BytesAt(uint64_t address) const {
  for (size_t i = 0; i < section_count(); ++i) {
    const ElfSection section = Section(i);
    const uint64_t from_start = address - section.address;
    if (section.address == 0 || from_start >= section.data.remaining()) continue;
    ByteReader bytes = section.data;
    bytes.Skip(from_start);
    return bytes;
  }
  return ByteReader();
}

std::string ElfFile::BuildId() const {
  if (const auto section = FindSection(".note.gnu.build-id")) return BuildIdIn(section->data);
  // Some linker scripts put the build id among other notes.
  for (uint64_t i = 0; i < segments_.count; ++i) {
    const auto segment = Load<Elf64_Phdr>(segments_, i);
    if (segment.p_type != PT_NOTE) continue;
    std::string id = BuildIdIn(At(segment.p_offset, segment.p_filesz));
    if (!id.empty()) return id;
  }
  return "";
}

std::optional<DebugLink> ElfFile::FindDebugLink() const {
  const std::optional<ElfSection> section = FindSection(".gnu_debuglink");
  if (!section) return std::nullopt;
  ByteReader reader = section->data;
  DebugLink link;
  link.name = reader.ReadCString();
  reader.Skip(AlignTo4(link.name.size() + 1) - (link.name.size() + 1));
  link.crc = reader.Read<uint32_t>();
  if (!reader.ok() || link.name.empty()) return std::nullopt;
  return link;
}

}  // namespace allomon::internal
