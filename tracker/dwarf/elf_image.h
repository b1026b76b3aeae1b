// An ELF file in memory, for libdw: sections that are copied, and one that is mapped from a file.
#ifndef ALLOMON_TRACKER_DWARF_ELF_IMAGE_H_
#define ALLOMON_TRACKER_DWARF_ELF_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace allomon {

// Not thread safe.
class ElfImage {
 public:
  ElfImage() { Add("", {}); }
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  // `name` must live as long as the image.
  void Add(const char* name, std::string bytes);

  // Adds the last section, a copy of `bytes` bytes at `offset` in the file, and makes the image.
  // False if there is no memory for it.  Called once.
  bool Make(const char* name, int fd, uint64_t offset, uint64_t bytes);

  char* begin() const { return begin_; }
  size_t size() const { return size_; }

 private:
  std::string NameTable() const;
  void WriteHeader(uint64_t headers);
  void WriteSections(uint64_t headers, uint64_t mapped, uint64_t mapped_bytes);

  std::vector<const char*> names_;
  std::vector<std::string> parts_;
  char* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_ELF_IMAGE_H_
