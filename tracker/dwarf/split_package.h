// Units of a .dwp file: the .dwo files of a program that was compiled with -gsplit-dwarf, in one.
//
// elfutils reads such files from 0.191 on; this is for those before.
#ifndef ALLOMON_TRACKER_DWARF_SPLIT_PACKAGE_H_
#define ALLOMON_TRACKER_DWARF_SPLIT_PACKAGE_H_

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/dwarf/file_bytes.h"

namespace allomon {

// Sources: DWARF 5, 7.3.5 (version 5); gcc.gnu.org/wiki/DebugFissionDWP (version 2, of DWARF 4).
//
// Not thread safe.  What a file states is checked against its bounds.  Memory: of each unit that
// was asked for a copy of what it has in the package, and of the program's .debug_addr.
class SplitPackage {
 public:
  // nullptr if there is no package at `path`.
  static std::unique_ptr<SplitPackage> Open(const std::string& path);
  ~SplitPackage();
  SplitPackage(const SplitPackage&) = delete;
  SplitPackage& operator=(const SplitPackage&) = delete;

  // The functions of the unit that `skeleton` stands for in the program.  False if the package has
  // none of that identity.  Valid as long as the package.
  bool Find(Dwarf_Die* skeleton, uint64_t identity, Dwarf_Die* functions);

 private:
  struct Unit;

  // Where a package keeps a section, and what is in it.
  struct Section {
    Bytes bytes;
    uint64_t file_offset = 0;
  };

  explicit SplitPackage(int fd, const char* mapped, size_t size);
  bool ReadSections();
  Section FindSection(std::string_view name) const;
  bool FindRow(uint64_t identity, uint32_t* row) const;
  Bytes PartOf(uint32_t row, uint32_t kind, const Section& section) const;
  std::unique_ptr<Unit> Make(Dwarf_Die* skeleton, uint32_t row) const;

  const int fd_;
  const char* const mapped_;
  const size_t size_;
  Bytes index_;  // .debug_cu_index
  uint32_t version_ = 0;
  uint32_t kinds_ = 0;
  uint32_t rows_ = 0;
  uint32_t slots_ = 0;
  std::vector<std::unique_ptr<Unit>> units_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_SPLIT_PACKAGE_H_
