// The notes of an ELF file or of a loaded module, elf(5): a name, a type and a description each,
// padded to four bytes.
//
// No allocation, async-signal-safe.  Nothing outside of the reader's bytes is read.
#ifndef ALLOMON_TRACKER_BASE_ELF_NOTES_H_
#define ALLOMON_TRACKER_BASE_ELF_NOTES_H_

#include <elf.h>

#include <cstdint>
#include <string_view>

#include "tracker/base/byte_reader.h"

namespace allomon::internal {

struct ElfNote {
  std::string_view name;  // with the zero that ends it
  uint32_t type;
  ByteReader description;
};

// Takes the next note.  False at the end, and at a note that is not whole.
inline bool TakeNote(ByteReader* notes, ElfNote* note) {
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  if (notes->remaining() < sizeof(Elf64_Nhdr)) return false;
  const auto header = notes->Read<Elf64_Nhdr>();
  const ByteReader name = notes->Take(padded(header.n_namesz));
  note->description = notes->Take(header.n_descsz);
  if (!notes->ok()) return false;
  note->name = {reinterpret_cast<const char*>(name.position()), header.n_namesz};
  note->type = header.n_type;
  // The last one need not be padded: a build id may have any length (ld --build-id=0xHEX).  Where
  // too little is left to skip, none is.
  notes->Skip(padded(header.n_descsz) - header.n_descsz);
  return true;
}

// The description of the build id among these notes; empty if there is none.
inline ByteReader FindBuildId(ByteReader notes) {
  constexpr std::string_view kGnu("GNU\0", 4);
  for (ElfNote note; TakeNote(&notes, &note);) {
    if (note.type == NT_GNU_BUILD_ID && note.name == kGnu) return note.description;
  }
  return ByteReader();
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_ELF_NOTES_H_
