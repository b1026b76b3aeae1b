// fault_access.h for 64-bit Arm.
#ifndef ALLOMON_ALLOCATOR_GUARD_AARCH64_FAULT_ACCESS_H_
#define ALLOMON_ALLOCATOR_GUARD_AARCH64_FAULT_ACCESS_H_

#include <ucontext.h>

#include <cstdint>
#include <cstring>

#include "allocator/guard/error_report.h"

namespace allomon::internal {

// The kernel puts records after the registers; that of the fault has the syndrome register, with
// bit 6 set for a write (Arm ARM, ESR_EL1, ISS of a data abort).  An emulator may leave it out.
inline AccessKind AccessOf(const ucontext_t& context) {
  struct Record {
    uint32_t magic;
    uint32_t size_bytes;
    uint64_t syndrome;
  };
  constexpr uint32_t kSyndromeMagic = 0x45535201;
  const auto* at = reinterpret_cast<const unsigned char*>(context.uc_mcontext.__reserved);
  size_t left = sizeof(context.uc_mcontext.__reserved);
  Record record;
  while (left >= sizeof(record)) {
    memcpy(&record, at, sizeof(record));
    if (record.magic == kSyndromeMagic) {
      return (record.syndrome >> 6 & 1) != 0 ? AccessKind::kWrite : AccessKind::kRead;
    }
    if (record.magic == 0 || record.size_bytes < 8 || record.size_bytes > left) break;
    at += record.size_bytes;
    left -= record.size_bytes;
  }
  return AccessKind::kUnknown;
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_AARCH64_FAULT_ACCESS_H_
