#include "tools/explain/notes.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "tracker/formats/process_map.h"

namespace allomon::explain {
namespace {

constexpr size_t kMostHeaders = 256;
constexpr size_t kMostNoteBytes = 1 << 16;

// The address that a note of that type leads to.
std::optional<uint64_t> AddressInNotes(const ProcessFile& memory, uint64_t begin,
                                       uint64_t size_bytes, uint32_t type) {
  std::string notes(std::min<uint64_t>(size_bytes, kMostNoteBytes), '\0');
  if (!memory.ReadAt(begin, notes.data(), notes.size())) return std::nullopt;
  const auto round_up = [](uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; };
  for (size_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr head;
    memcpy(&head, notes.data() + at, sizeof(head));
    const uint64_t text = at + sizeof(head) + round_up(head.n_namesz);
    const uint64_t next = text + round_up(head.n_descsz);
    if (next > notes.size()) return std::nullopt;
    int64_t distance = 0;
    if (head.n_type == type && head.n_descsz == sizeof(distance) &&
        head.n_namesz == sizeof(process_map::kNoteOwner) &&
        memcmp(notes.data() + at + sizeof(head), process_map::kNoteOwner, head.n_namesz) == 0) {
      memcpy(&distance, notes.data() + text, sizeof(distance));
      return begin + text + static_cast<uint64_t>(distance);
    }
    at = next;
  }
  return std::nullopt;
}

// `begin` is where a file's first bytes are mapped.
std::optional<uint64_t> AddressInModule(const ProcessFile& memory, uint64_t begin, uint32_t type) {
  Elf64_Ehdr elf;
  if (!memory.ReadAt(begin, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  std::vector<Elf64_Phdr> headers(std::min<size_t>(elf.e_phnum, kMostHeaders));
  if (headers.empty() ||
      !memory.ReadAt(begin + elf.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr))) {
    return std::nullopt;
  }
  // The file's first bytes are at the address of the segment that has them.
  uint64_t base = begin;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && header.p_offset == 0) base = begin - header.p_vaddr;
  }
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_NOTE) continue;
    const auto found = AddressInNotes(memory, base + header.p_vaddr, header.p_filesz, type);
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint64_t> FindNotes(const ProcessFile& memory, const std::vector<Mapping>& mappings,
                                uint32_t type) {
  std::vector<uint64_t> found;
  for (const Mapping& mapping : mappings) {
    const bool begins_file = mapping.inode != 0 && mapping.offset_bytes == 0;
    if (!begins_file || !mapping.is_readable || mapping.is_shared) continue;
    const auto address = AddressInModule(memory, mapping.begin, type);
    if (address.has_value()) found.push_back(*address);
  }
  return found;
}

}  // namespace allomon::explain
