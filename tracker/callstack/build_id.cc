#include "tracker/callstack/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace allomon::internal {
namespace {

// The loader has read the headers from the first page, too.
constexpr size_t kHeaderBytes = 4096;

struct Headers {
  const ElfW(Phdr) * first = nullptr;
  size_t count = 0;
};

Headers ProgramHeaders(uintptr_t begin, uintptr_t end) {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(begin);
  if (end - begin < kHeaderBytes || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const size_t bytes = size_t{header->e_phnum} * sizeof(ElfW(Phdr));
  if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > kHeaderBytes ||
      bytes > kHeaderBytes - header->e_phoff) {
    return {};
  }
  return {reinterpret_cast<const ElfW(Phdr)*>(begin + header->e_phoff), header->e_phnum};
}

// Notes need not be loaded.
bool IsLoaded(const Headers& headers, const ElfW(Phdr) & notes) {
  for (size_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.first[i];
    const uint64_t offset = notes.p_vaddr - segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 && offset < segment.p_filesz &&
        notes.p_filesz <= segment.p_filesz - offset) {
      return true;
    }
  }
  return false;
}

size_t RoundUpToWord(size_t size) { return (size + 3) & ~size_t{3}; }

// elf(5): notes of a name, a description and a type, each padded to four bytes.
size_t BuildIdIn(const uint8_t* notes, size_t size, uint8_t* build_id, size_t room) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof(note));
    const size_t name_end = sizeof(note) + RoundUpToWord(note.n_namesz);
    // The last one need not be padded: an id may have any length (ld --build-id=0xHEX).
    if (name_end + note.n_descsz > size) return 0;
    const size_t end = std::min(name_end + RoundUpToWord(note.n_descsz), size);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes + sizeof(note), "GNU", 4) == 0) {
      if (note.n_descsz > room) return 0;
      memcpy(build_id, notes + name_end, note.n_descsz);
      return note.n_descsz;
    }
    notes += end;
    size -= end;
  }
  return 0;
}

// The mapping [begin, end) of a module.
struct Extent {
  uintptr_t begin;
  uintptr_t end;
};

size_t BuildIdOf(const Headers& headers, const Extent& extent, uintptr_t bias, uint8_t* build_id,
                 size_t room) {
  for (size_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& header = headers.first[i];
    if (header.p_type != PT_NOTE || !IsLoaded(headers, header)) continue;
    const uintptr_t notes = bias + header.p_vaddr;
    if (notes < extent.begin || notes > extent.end || header.p_filesz > extent.end - notes)
      continue;
    const size_t length =
        BuildIdIn(reinterpret_cast<const uint8_t*>(notes), header.p_filesz, build_id, room);
    if (length != 0) return length;
  }
  return 0;
}

}  // namespace

size_t ReadBuildId(uintptr_t begin, uintptr_t end, uintptr_t bias, uint8_t* build_id, size_t room) {
  const Headers headers = ProgramHeaders(begin, end);
  return BuildIdOf(headers, {begin, end}, bias, build_id, room);
}

size_t ReadBuildId(const ElfW(Phdr) * headers, size_t count, uintptr_t bias, uint8_t* build_id,
                   size_t room) {
  return BuildIdOf({headers, count}, {0, UINTPTR_MAX}, bias, build_id, room);
}

}  // namespace allomon::internal
