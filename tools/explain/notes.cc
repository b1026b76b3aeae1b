#include "tools/explain/notes.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

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

struct Headers {
  uint64_t base = 0;  // added to addresses in the headers
  std::vector<Elf64_Phdr> segments;
};

// `begin` is where a file's first bytes are mapped.
std::optional<Headers> ReadHeaders(const ProcessFile& memory, uint64_t begin) {
  Elf64_Ehdr elf;
  if (!memory.ReadAt(begin, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  Headers headers;
  headers.segments.resize(std::min<size_t>(elf.e_phnum, kMostHeaders));
  if (headers.segments.empty() || !memory.ReadAt(begin + elf.e_phoff, headers.segments.data(),
                                                 headers.segments.size() * sizeof(Elf64_Phdr))) {
    return std::nullopt;
  }
  // The file's first bytes are at the address of the segment that has them.
  headers.base = begin;
  for (const Elf64_Phdr& segment : headers.segments) {
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) headers.base = begin - segment.p_vaddr;
  }
  return headers;
}

std::optional<uint64_t> AddressInModule(const ProcessFile& memory, uint64_t begin, uint32_t type) {
  const auto headers = ReadHeaders(memory, begin);
  if (!headers.has_value()) return std::nullopt;
  for (const Elf64_Phdr& segment : headers->segments) {
    if (segment.p_type != PT_NOTE) continue;
    const auto found =
        AddressInNotes(memory, headers->base + segment.p_vaddr, segment.p_filesz, type);
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

bool BeginsFile(const Mapping& mapping) {
  return mapping.inode != 0 && mapping.offset_bytes == 0 && mapping.is_readable &&
         !mapping.is_shared;
}

}  // namespace

std::vector<uint64_t> FindNotes(const ProcessFile& memory, const std::vector<Mapping>& mappings,
                                uint32_t type) {
  std::vector<uint64_t> found;
  for (const Mapping& mapping : mappings) {
    if (!BeginsFile(mapping)) continue;
    const auto address = AddressInModule(memory, mapping.begin, type);
    if (address.has_value()) found.push_back(*address);
  }
  return found;
}

std::vector<Module> FindModules(const ProcessFile& memory, const std::vector<Mapping>& mappings) {
  std::unordered_set<std::string_view> with_code;
  for (const Mapping& mapping : mappings) {
    if (mapping.is_executable && mapping.inode != 0) with_code.insert(mapping.name);
  }
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<Module> modules;
  for (const Mapping& mapping : mappings) {
    if (!BeginsFile(mapping) || with_code.count(mapping.name) == 0) continue;
    const auto headers = ReadHeaders(memory, mapping.begin);
    if (!headers.has_value()) continue;
    Module module = {mapping.begin, mapping.begin};
    for (const Elf64_Phdr& segment : headers->segments) {
      if (segment.p_type != PT_LOAD) continue;
      const uint64_t end = headers->base + segment.p_vaddr + segment.p_memsz;
      module.end = std::max(module.end, (end + page_bytes - 1) / page_bytes * page_bytes);
    }
    modules.push_back(module);
  }
  return modules;
}

}  // namespace allomon::explain
