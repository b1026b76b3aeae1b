#include "tracker/symbols/mapped_image.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/callstack/cfi_header.h"

namespace allomon::internal {
namespace {

// Addresses in the module, and sizes.
struct MappedParts {
  struct Part {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  Part symbols;
  Part strings;
  Part header;
  Part frames;
};

// Reads a module at the place where the loader has mapped it.  The module's own headers are
// trusted, as the loader has trusted them; every address is checked against the segments.
class ImageReader {
 public:
  explicit ImageReader(const dl_phdr_info& info) : info_(info) {}

  bool HasCodeAt(uintptr_t address) const {
    return AnySegment(PF_X, [&](const ElfW(Phdr) & segment) {
      return address - (info_.dlpi_addr + segment.p_vaddr) < segment.p_memsz;
    });
  }

  MappedParts FindParts() const {
    MappedParts parts;
    for (int i = 0; i < info_.dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info_.dlpi_phdr[i];
      if (header.p_type == PT_DYNAMIC) FindSymbols(header, &parts);
      if (header.p_type == PT_GNU_EH_FRAME) FindFrames(header, &parts);
    }
    return parts;
  }

  void Copy(uint64_t address, std::vector<uint8_t>* bytes) const {
    const uint64_t count = std::min<uint64_t>(bytes->size(), BytesFrom(address));
    if (count != 0) memcpy(bytes->data(), At(address), count);
  }

 private:
  template <typename Is>
  bool AnySegment(unsigned flags, Is is) const {
    const ElfW(Phdr)* const end = info_.dlpi_phdr + info_.dlpi_phnum;
    return std::any_of(info_.dlpi_phdr, end, [&](const ElfW(Phdr) & segment) {
      return segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags && is(segment);
    });
  }

  // Returns the number of bytes from `address` to the end of its segment's part in the file; 0
  // outside of all segments.
  uint64_t BytesFrom(uint64_t address) const {
    uint64_t bytes = 0;
    AnySegment(PF_R, [&](const ElfW(Phdr) & segment) {
      const uint64_t offset = address - segment.p_vaddr;
      if (offset < segment.p_filesz) bytes = segment.p_filesz - offset;
      return bytes != 0;
    });
    return bytes;
  }

  const uint8_t* At(uint64_t address) const {
    return reinterpret_cast<const uint8_t*>(info_.dlpi_addr + address);
  }

  MappedParts::Part PartAt(uint64_t address, uint64_t most_bytes) const {
    return {address, std::min(BytesFrom(address), most_bytes)};
  }

  // The loader has relocated some of these pointers to addresses of the process, and left others.
  uint64_t FileAddress(uint64_t pointer) const {
    const uint64_t address = pointer - info_.dlpi_addr;
    return BytesFrom(address) != 0 ? address : pointer;
  }

  void FindSymbols(const ElfW(Phdr) & dynamic, MappedParts* parts) const {
    uint64_t symbols = 0, strings = 0, string_bytes = 0, hash = 0, gnu_hash = 0;
    ByteReader entries(
        At(dynamic.p_vaddr),
        At(dynamic.p_vaddr) + std::min(BytesFrom(dynamic.p_vaddr), dynamic.p_filesz));
    while (entries.remaining() >= sizeof(ElfW(Dyn))) {
      const auto entry = entries.Read<ElfW(Dyn)>();
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_SYMTAB) symbols = FileAddress(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRTAB) strings = FileAddress(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRSZ) string_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_HASH) hash = FileAddress(entry.d_un.d_ptr);
      if (entry.d_tag == DT_GNU_HASH) gnu_hash = FileAddress(entry.d_un.d_ptr);
    }
    const uint64_t count = hash != 0 ? CountByHash(hash) : CountByGnuHash(gnu_hash);
    parts->symbols = PartAt(symbols, count * sizeof(ElfW(Sym)));
    parts->strings = PartAt(strings, string_bytes);
  }

  ByteReader ReaderAt(uint64_t address) const {
    return ByteReader(At(address), At(address) + BytesFrom(address));
  }

  // System V ABI, "Hash Table": as many chains as symbols.
  uint64_t CountByHash(uint64_t hash) const {
    ByteReader reader = ReaderAt(hash);
    reader.Read<uint32_t>();
    return reader.Read<uint32_t>();
  }

  // The symbols of a bucket follow each other, and the last one is marked; those in no bucket come
  // first.
  uint64_t CountByGnuHash(uint64_t hash) const {
    if (hash == 0) return 0;
    ByteReader reader = ReaderAt(hash);
    const uint32_t buckets = reader.Read<uint32_t>();
    const uint32_t first = reader.Read<uint32_t>();
    const uint32_t bloom_words = reader.Read<uint32_t>();
    reader.Read<uint32_t>();
    reader.Skip(uint64_t{bloom_words} * sizeof(ElfW(Addr)));
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets && !reader.AtEnd(); ++i) {
      last = std::max(last, reader.Read<uint32_t>());
    }
    if (last < first || !reader.ok()) return first;
    reader.Skip(uint64_t{last - first} * sizeof(uint32_t));
    while (reader.remaining() >= sizeof(uint32_t) && (reader.Read<uint32_t>() & 1) == 0) ++last;
    return uint64_t{last} + 1;
  }

  void FindFrames(const ElfW(Phdr) & header, MappedParts* parts) const {
    parts->header = PartAt(header.p_vaddr, header.p_memsz);
    const CfiBytes bytes = {At(header.p_vaddr), At(header.p_vaddr) + parts->header.bytes,
                            header.p_vaddr};
    CfiHeader table;
    if (table.Read(bytes, bytes.begin)) parts->frames = PartAt(table.frames, SizeOf(table.frames));
  }

  // Returns the size of .eh_frame, which no header contains.
  uint64_t SizeOf(uint64_t frames) const {
    const CfiBytes bytes = {At(frames), At(frames) + BytesFrom(frames), frames};
    const uint8_t* record = bytes.begin;
    while (NextCfiRecord(bytes, &record)) continue;
    ALLOMON_DCHECK_LE("inv.symbols.bounded", record, bytes.end);
    return static_cast<uint64_t>(record - bytes.begin);
  }

  const dl_phdr_info& info_;
};

struct Search {
  uintptr_t address;
  MappedParts parts;
  MappedImage* image;
  bool is_found;
};

int FindParts(dl_phdr_info* info, size_t, void* pointer) {
  auto* const search = static_cast<Search*>(pointer);
  const ImageReader reader(*info);
  search->is_found = reader.HasCodeAt(search->address);
  if (search->is_found) search->parts = reader.FindParts();
  return search->is_found ? 1 : 0;
}

int CopyParts(dl_phdr_info* info, size_t, void* pointer) {
  auto* const search = static_cast<Search*>(pointer);
  const ImageReader reader(*info);
  search->is_found = reader.HasCodeAt(search->address);
  if (!search->is_found) return 0;
  for (MappedImage::Copy* const copy : search->image->copies()) {
    reader.Copy(copy->address, &copy->bytes);
  }
  return 1;
}

}  // namespace

// Nothing is allocated under the loader's lock: a writer that finds no memory leaves at the
// allocation, and releases no lock (allocator/host/writing_reserve.h).
std::unique_ptr<MappedImage> MappedImage::CopyOf(uintptr_t address) {
  Search search = {address, {}, nullptr, false};
  dl_iterate_phdr(FindParts, &search);
  if (!search.is_found) return nullptr;
  auto image = std::make_unique<MappedImage>();
  image->symbols_.Reserve(search.parts.symbols.address, search.parts.symbols.bytes);
  image->strings_.Reserve(search.parts.strings.address, search.parts.strings.bytes);
  image->header_.Reserve(search.parts.header.address, search.parts.header.bytes);
  image->frames_.Reserve(search.parts.frames.address, search.parts.frames.bytes);
  search.image = image.get();
  dl_iterate_phdr(CopyParts, &search);
  return search.is_found ? std::move(image) : nullptr;
}

}  // namespace allomon::internal
