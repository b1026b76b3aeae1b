// The names and extents of functions in the pages of a loaded module, for a file that cannot be
// opened any more.
//
// Allocates; not for use inside malloc or in a signal handler.  Addresses are without load bias.
#ifndef ALLOMON_TRACKER_SYMBOLS_MAPPED_IMAGE_H_
#define ALLOMON_TRACKER_SYMBOLS_MAPPED_IMAGE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tracker/base/byte_reader.h"
#include "tracker/callstack/cfi_entry.h"

namespace allomon::internal {

// Copies, which stay when the module is unloaded.
class MappedImage {
 public:
  // Copies the tables of the module with code at `address`; nullptr if there is none.  Takes the
  // loader's lock, so that the module is not unloaded meanwhile.  Cost: copies its exported symbols
  // and its unwind table.
  static std::unique_ptr<MappedImage> CopyOf(uintptr_t address);

  // .dynsym and .dynstr; empty if the module does not have them.
  ByteReader symbols() const { return symbols_.Reader(); }
  ByteReader strings() const { return strings_.Reader(); }

  // .eh_frame_hdr and .eh_frame.
  CfiBytes header() const { return header_.Bytes(); }
  CfiBytes frames() const { return frames_.Bytes(); }

  struct Copy {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;

    void Reserve(uint64_t at, uint64_t size_bytes) {
      address = at;
      bytes.resize(size_bytes);
    }
    ByteReader Reader() const { return ByteReader(bytes.data(), bytes.data() + bytes.size()); }
    CfiBytes Bytes() const { return {bytes.data(), bytes.data() + bytes.size(), address}; }
  };
  std::array<Copy*, 4> copies() { return {&symbols_, &strings_, &header_, &frames_}; }

 private:
  Copy symbols_;
  Copy strings_;
  Copy header_;
  Copy frames_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_MAPPED_IMAGE_H_
