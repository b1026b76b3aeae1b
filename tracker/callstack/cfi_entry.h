// One function's call frame information: an FDE with the CIE that it refers to, as found in
// .eh_frame (Linux Standard Base, "Exception Frames"; DWARF 5 section 6.4).
//
// Works on a section in memory as the loader mapped it, and on one read from a file; they differ
// only in CfiBytes::address.  No allocation, no lock, async-signal-safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_CFI_ENTRY_H_
#define ALLOMON_TRACKER_CALLSTACK_CFI_ENTRY_H_

#include <cstdint>

#include "tracker/base/byte_reader.h"

namespace allomon::internal {

// Bytes that hold CFI.  `address` is where the first of them is in memory (live code), or would be
// without load bias (a file).
struct CfiBytes {
  const uint8_t* begin;
  const uint8_t* end;
  uintptr_t address;

  uintptr_t AddressOf(const uint8_t* p) const { return address + (p - begin); }
  bool Contains(const uint8_t* p) const { return begin <= p && p < end; }
};

struct CfiEntry {
  uintptr_t pc_begin;  // the function is [pc_begin, pc_end)
  uintptr_t pc_end;
  uint64_t code_align;
  int64_t data_align;
  uint64_t ra_register;
  uint8_t pointer_encoding;    // DW_EH_PE_* of addresses in the program
  bool has_augmentation_data;  // the CIE's augmentation starts with 'z'
  bool signal_frame;           // augmentation 'S': the caller was interrupted
  ByteReader initial;          // the CIE's instructions
  ByteReader program;          // the FDE's
};

// Reads the FDE that starts at `fde`.  False for a CIE, a terminator, or bytes that make no sense.
[[nodiscard]] bool ParseFde(const CfiBytes& bytes, const uint8_t* fde, CfiEntry* entry);

// Moves *record to the record after it.  False at the end of the section.
[[nodiscard]] bool NextCfiRecord(const CfiBytes& bytes, const uint8_t** record);

// Reads a pointer in one of the DW_EH_PE_* encodings; `data_base` is the address that "datarel" is
// relative to.  Sets *ok false for an encoding that never occurs on Linux.
uintptr_t ReadEncodedPointer(const CfiBytes& bytes, ByteReader* reader, uint8_t encoding,
                             uintptr_t data_base, bool* ok);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CFI_ENTRY_H_
