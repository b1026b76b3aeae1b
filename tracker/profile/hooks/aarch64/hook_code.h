// hook_code.h for 64-bit Arm.
//
// A hook is one of the no-ops, which becomes a direct branch to its stub.
// -fpatchable-function-entry=2 is enough; a single no-op is not taken for a hook, because the C
// library's own start code has one.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_AARCH64_HOOK_CODE_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_AARCH64_HOOK_CODE_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

inline constexpr size_t kHookBytes = 4;
inline constexpr size_t kStubBytes = 24;
inline constexpr size_t kStubsHeadBytes = 16;
inline constexpr size_t kHookScanBytes = 4 + 2 * kHookBytes;

// A branch reaches 128 MiB.
inline constexpr uintptr_t kJumpReachBytes = (uintptr_t{1} << 27) - 64;

// A no-op and a direct branch are among the instructions that the architecture lets one thread
// replace by each other while another one runs them.
inline constexpr bool kReplacedAtOnce = true;

// The first byte is that of a no-op or of a landing: all of them are hints.
inline bool MayHaveHook(uintptr_t start) {
  const unsigned char first = *reinterpret_cast<const unsigned char*>(start);
  return (first & 0x1f) == 0x1f;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_AARCH64_HOOK_CODE_H_
