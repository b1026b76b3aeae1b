// A 64-bit little-endian ELF file, read with every offset checked: the file may
// be truncated or hostile.  (It must not be truncated while it is mapped.)
//
// May allocate; not for use inside malloc.  An ElfFile is immutable, so any
// thread may read it.  What it returns points into it.
#ifndef ALLOMON_TRACKER_SYMBOLS_ELF_FILE_H_
#define ALLOMON_TRACKER_SYMBOLS_ELF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/base/byte_reader.h"

namespace allomon::internal {

struct ElfSection {
  std::string_view name;
  uint32_t type;
  uint64_t address;  // where it is loaded, without load bias
  uint64_t size;
  uint32_t link;    // the number of a section that it refers to
  ByteReader data;  // empty if not in the file, or compressed
};

struct DebugLink {
  std::string name;
  uint32_t crc;
};

class ElfFile {
 public:
  // Maps the file.  nullptr if it cannot be read or is not such a file.
  static std::unique_ptr<ElfFile> Open(const std::string& path);

  // Reads an image that the caller keeps, such as the vDSO's.
  static std::unique_ptr<ElfFile> FromMemory(const uint8_t* image, size_t size_bytes);

  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // The first section of that name, or nullptr.
  const ElfSection* FindSection(std::string_view name) const;
  const std::vector<ElfSection>& sections() const { return sections_; }

  // Where the loader puts the byte at `offset`, without load bias.
  std::optional<uint64_t> AddressOfOffset(uint64_t offset) const;

  // In lower-case hexadecimal, or empty.
  std::string BuildId() const;
  std::optional<DebugLink> FindDebugLink() const;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  struct Segment {
    uint64_t offset;
    uint64_t file_size;
    uint64_t address;
  };

  ElfFile(const uint8_t* data, size_t size, bool owns_mapping)
      : data_(data), size_(size), owns_mapping_(owns_mapping) {}

  bool Parse();
  void ParseSegments(uint64_t offset, uint64_t entry_bytes, uint64_t count);
  void ParseSections(uint64_t offset, uint64_t entry_bytes, uint64_t count, uint64_t names);
  ByteReader At(uint64_t offset, uint64_t bytes) const;

  const uint8_t* const data_;
  const size_t size_;
  const bool owns_mapping_;
  std::vector<Segment> segments_;
  std::vector<ElfSection> sections_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_ELF_FILE_H_
