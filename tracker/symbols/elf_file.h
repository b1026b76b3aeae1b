// A 64-bit little-endian ELF file, read with every offset checked: the file may be truncated or
// hostile.  The file must not be truncated while it is mapped: the read would raise SIGBUS.
//
// Headers are read where they lie, each time that they are asked for, so opening a file costs
// three system calls and no memory but the object's own.  Not for use inside malloc or in a signal
// handler, because Open() allocates.  An ElfFile is immutable, so any thread may read it.  The
// bytes and names that it returns lie in the image, and are valid as long as the ElfFile.
#ifndef ALLOMON_TRACKER_SYMBOLS_ELF_FILE_H_
#define ALLOMON_TRACKER_SYMBOLS_ELF_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tracker/base/byte_reader.h"
#include "tracker/callstack/mapped_files.h"

namespace allomon::internal {

struct ElfSection {
  uint32_t name_at;  // the name's place among the section names: see ElfFile::NameOf
  uint32_t type;
  uint64_t address;  // where the section is loaded, without load bias
  uint64_t size;
  uint32_t link;    // the number of a section that this one refers to
  ByteReader data;  // empty if the section is not in the file, or is compressed
};

struct DebugLink {
  std::string name;
  uint32_t crc;
};

// Whether memory was ever too short to map a file since the process began.  If so, functions have
// lost their names.
extern std::atomic<bool> elf_memory_refused;

class ElfFile {
 public:
  // Maps the file.  nullptr if it cannot be read or is not a 64-bit little-endian ELF file.
  static std::unique_ptr<ElfFile> Open(const std::string& path);

  // The same; *error is an errno if the path leads to no file that may be read, ENOEXEC if it leads
  // to one that is no such ELF file, and otherwise 0.
  static std::unique_ptr<ElfFile> Open(const std::string& path, int* error);

  // Reads an image that the caller keeps, such as the vDSO's.
  static std::unique_ptr<ElfFile> FromMemory(const uint8_t* image, size_t size_bytes);

  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  size_t section_count() const { return sections_.count; }
  // Requires number < section_count().
  ElfSection Section(size_t number) const;
  // "" if the name lies outside of the file.
  std::string_view NameOf(const ElfSection& section) const;
  // The first section of that name.
  std::optional<ElfSection> FindSection(std::string_view name) const;

  // Returns the address at which the loader puts the byte at `offset`, without load bias.
  std::optional<uint64_t> AddressOfOffset(uint64_t offset) const;

  // Returns the build id in lower-case hexadecimal, or an empty text.
  std::string BuildId() const;
  std::optional<DebugLink> FindDebugLink() const;

  // EM_X86_64, for example.
  uint16_t machine() const;

  // The bytes of the file from that address, without load bias, to the end of its section; empty if
  // no section has them in the file.
  ByteReader BytesAt(uint64_t address) const;

  // Identity of the opened file; all 0 for an image.
  const FileIdentity& identity() const { return identity_; }

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  // Headers of one kind.  All of them lie in the file.
  struct Table {
    uint64_t offset = 0;
    uint64_t entry_bytes = 0;
    uint64_t count = 0;
  };

  ElfFile(const uint8_t* data, size_t size, bool owns_mapping)
      : data_(data), size_(size), owns_mapping_(owns_mapping) {}

  bool Parse();
  template <typename Entry>
  Table TableAt(uint64_t offset, uint64_t entry_bytes, uint64_t count) const;
  template <typename Entry>
  Entry Load(const Table& table, uint64_t number) const;
  ByteReader At(uint64_t offset, uint64_t bytes) const;

  const uint8_t* const data_;
  const size_t size_;
  const bool owns_mapping_;
  FileIdentity identity_;
  Table segments_;
  Table sections_;
  ByteReader names_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_ELF_FILE_H_
