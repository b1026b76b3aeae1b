#include <elf.h>

#include <cstring>

#include "tracker/base/elf_notes.h"
#include "tracker/callstack/mapped_files.h"

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

size_t BuildIdIn(const uint8_t* notes, size_t size, uint8_t* build_id, size_t room) {
  const ByteReader id = FindBuildId(ByteReader(notes, notes + size));
  if (id.remaining() > room) return 0;
  if (id.remaining() != 0) memcpy(build_id, id.position(), id.remaining());
  return id.remaining();
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
