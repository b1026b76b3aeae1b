// Units of a .dwp file: the .dwo files of a program that was compiled with -gsplit-dwarf, in one.
//
// elfutils reads such files from 0.191 on; this is for those before.
#ifndef ALLOMON_TRACKER_DWARF_SPLIT_PACKAGE_H_
#define ALLOMON_TRACKER_DWARF_SPLIT_PACKAGE_H_

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/dwarf/file_bytes.h"

namespace allomon {

// Sources: DWARF 5, 7.3.5 (version 5); gcc.gnu.org/wiki/DebugFissionDWP (version 2, of DWARF 4).
//
// Not thread safe.  What a file states is checked against its bounds.
//
// Memory: of each unit that was asked for a copy of what it has in the package, and of its parts of
// the program's .debug_addr and .debug_ranges.  All copies together have at most 8 times the bytes
// of the package: parts of honest files do not overlap, but for what units of one .dwo file share.
// Units after that are not found.
class SplitPackage {
 public:
  // nullptr if there is no package at `path`.  `program` has the skeletons; it must live as long.
  static std::unique_ptr<SplitPackage> Open(const std::string& path, Dwarf* program);
  ~SplitPackage();
  SplitPackage(const SplitPackage&) = delete;
  SplitPackage& operator=(const SplitPackage&) = delete;

  // The functions of the unit that `skeleton` stands for in the program.  False if the package has
  // none of that identity.  Valid as long as the package.
  bool Find(Dwarf_Die* skeleton, uint64_t identity, Dwarf_Die* functions);

 private:
  struct Unit;

  // A section of a package: its bytes, and their place in the file.
  struct Section {
    Bytes bytes;
    uint64_t file_offset = 0;
  };

  // A section of the program that has a part for each unit.  Only their beginnings are stated.
  struct Parts {
    Parts(Dwarf* program, std::string_view section, unsigned int base_attribute);
    Bytes Of(Dwarf_Die* skeleton) const;

    unsigned int attribute;
    Bytes bytes;
    std::vector<uint64_t> bases;  // sorted
  };

  SplitPackage(int fd, const char* mapped, size_t size);
  bool ReadIndex();
  void ReadSections();
  void ReadProgram(Dwarf* program);
  Section FindSection(std::string_view name) const;
  bool FindRow(uint64_t identity, uint32_t* row) const;
  Bytes PartOf(uint32_t row, uint32_t kind, Bytes section) const;
  Bytes AddressesOf(Dwarf_Die* skeleton) const;
  bool TakeCopy(std::initializer_list<Bytes> parts);
  std::unique_ptr<Unit> Make(Dwarf_Die* skeleton, uint32_t row);

  const int fd_;
  const char* const mapped_;
  const size_t size_;
  Bytes index_;  // .debug_cu_index
  uint32_t version_ = 0;
  uint32_t kinds_ = 0;
  uint32_t rows_ = 0;
  uint32_t slots_ = 0;
  Bytes info_;
  Bytes abbreviations_;
  Bytes lines_;
  Bytes string_offsets_;
  Bytes range_lists_;
  Section strings_;
  std::optional<Parts> addresses_;
  std::optional<Parts> old_ranges_;  // of version 2
  uint64_t copied_bytes_ = 0;
  std::vector<std::unique_ptr<Unit>> units_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_SPLIT_PACKAGE_H_
